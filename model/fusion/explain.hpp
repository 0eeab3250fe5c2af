#pragma once
// explain() words the derivation: "x streams: O is a sum over x, rescaled where m grows". Internal to the folder.

#include "model/fusion/accumulator.hpp"

namespace napkin::internal {

/// Explains what makes an axis streamable: "S chunk by chunk; P by the online softmax; O by a sum".
[[nodiscard]] std::string describe_accumulators(const Diagram& diagram, AxisId axis, const AxisAnalysis& analysis);

/// Fills Streamed::steps with the rule that applied to each operation.
void explain(Streamed& streamed);

/// Adds a step for every axis that stays whole because it cannot stream.
void explain_refusals(Streamed& streamed);

}  // namespace napkin::internal
