#pragma once
// cut_of divides an algorithm that does not fit into one launch into several: an MLP 4096 wide into its two products.
// Each launch is a slice of the algorithm's operations with a tile of its own; arrays between launches pass through
// device memory. It cuts where the fewest bytes move. Internal to apps/.

#include <optional>
#include <vector>

#include "apps/library/question/question.hpp"

namespace napkin::internal {

/// Returns true if the algorithm may be cut: neither a kernel nor a tile is given.
[[nodiscard]] bool may_be_cut(const Question& question);

/// Cuts the algorithm into launches, in order; empty if no cut fits either.
[[nodiscard]] std::vector<LaunchAnswer> cut_of(const Question& question);

/// Sums the bytes moved over all launches, level by level; takes the maximum of bytes held by a group or node.
[[nodiscard]] std::vector<LevelAnswer> levels_of(const std::vector<LaunchAnswer>& launches);

/// Returns a launch for each operation beside one for all; nothing of one operation, of packed sequences, and on the
/// abstract machine.
[[nodiscard]] std::optional<UnfusedAnswer> unfused_of(const Question& question);

}  // namespace napkin::internal
