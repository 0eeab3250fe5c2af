#pragma once
// These rules of algebra turn a diagram into an equal one that streams, or that takes fewer operations. Example: (P1 -
// P2) V becomes P1 V - P2 V, so that two softmaxes stream in one loop; (Q K^T) V without a softmax becomes Q (K^T V).
// (model/README.md, "Streams")

#include "model/diagram/problem.hpp"

namespace napkin::internal {

/// Moves sums, differences and factors after linear operations until a consumed axis can stream: contract(A - B, C) =
/// contract(A, C) - contract(B, C), contract(A * r, C) = contract(A, C) * r if r lacks the contracted axes. Keeps axis
/// ids and output names; unchanged if nothing helps.
[[nodiscard]] Diagram linearised(const Diagram& diagram);

/// Puts chains of contractions into the order of fewest multiply-adds at these sizes; unchanged if the given order is
/// as good. Keeps axes and output names.
[[nodiscard]] Diagram reassociated(const Diagram& diagram, const Sizes& sizes);

}  // namespace napkin::internal
