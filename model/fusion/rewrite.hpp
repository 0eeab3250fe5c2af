#pragma once
// These rules of algebra turn a diagram into an equal one that streams, or that takes fewer operations. Example: (P1 -
// P2) V becomes P1 V - P2 V, so that two softmaxes stream in one loop; (Q K^T) V without a softmax becomes Q (K^T V).
// (model/README.md, "Streams")

#include "model/diagram/problem.hpp"

namespace napkin {

/// Where an axis that an operation consumes cannot stream, moves sums, differences and factors behind linear operations
/// until it can: contract(A - B, C) = contract(A, C) - contract(B, C), and contract(A * r, C) = contract(A, C) * r for
/// an r that lacks the contracted axes. Unchanged where nothing helps. Axes keep their ids, outputs their names;
/// Diagram::rewritings says what was done.
[[nodiscard]] Diagram linearised(const Diagram& diagram);

/// Chains of contractions in the order that takes the fewest multiply-adds at these sizes. Unchanged where the order
/// given is as good. Axes, outputs and Diagram::rewritings likewise.
[[nodiscard]] Diagram reassociated(const Diagram& diagram, const Sizes& sizes);

}  // namespace napkin
