#pragma once
// of_seen_pairs returns true if an operation need not compute the pairs that a mask hides, however its axes are grouped
// or streamed: S and O of attention need only the pairs that the softmax between them sees.

#include <array>

#include "model/diagram/diagram.hpp"

namespace napkin::internal {

/// Returns true if the operation runs over both axes of the mask, and its results at hidden pairs are zero or unused.
[[nodiscard]] bool of_seen_pairs(const Diagram& diagram, OpId operation, const std::array<AxisId, 2>& mask);

/// Returns true if only operations over the mask's visible pairs read the array.
[[nodiscard]] bool read_at_seen_pairs(const Diagram& diagram, ArrayId array, const std::array<AxisId, 2>& mask);

}  // namespace napkin::internal
