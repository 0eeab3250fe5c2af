#pragma once
// cut_of finds the launches of an algorithm that does not fit one: of an MLP 4096 wide the two products. Each launch is
// a slice of the algorithm's operations with a tile of its own; what one leaves for another passes through device
// memory. It cuts where the fewest bytes move. Internal to apps/.

#include <optional>
#include <vector>

#include "apps/library/question/request.hpp"

namespace napkin {

/// Whether the algorithm may be cut: no kernel's mapping is given, and no tile.
[[nodiscard]] bool may_be_cut(const Request& request);

/// The launches in order; empty: no cut fits either.
[[nodiscard]] std::vector<LaunchAnswer> cut_of(const Request& request);

/// What all launches move, level by level; of what one group or node holds the most of any launch.
[[nodiscard]] std::vector<LevelAnswer> levels_of(const std::vector<LaunchAnswer>& launches);

/// A launch for each operation beside one for all; nothing of one operation, of packed sequences, and on the abstract
/// machine.
[[nodiscard]] std::optional<UnfusedAnswer> unfused_of(const Request& request);

}  // namespace napkin
