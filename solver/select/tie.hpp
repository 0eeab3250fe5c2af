#pragma once
// bytes_into_blocks decides between tiles of equal predicted time: the tile with fewer bytes is better. Where device
// memory binds, a tile of four query heads takes the time of one of eight, to the last digit, but moves twice the bytes
// out of the L2; the fewer there are, the better they hide behind the memory, and the less energy they take.

#include "model/resource/resources.hpp"

namespace napkin::internal {

/// Returns the bytes between the blocks' level and the next above, both ways, all blocks; clipped to the arrays.
[[nodiscard]] inline Count bytes_into_blocks(const PlacedDiagram& placed) {
  return transfer_into_blocks(placed).transfer().value;
}

/// Returns false if no tile of the mapping has a time of its own: the ideal mapping's answer is a bound.
[[nodiscard]] inline bool is_ranked_by_time(const Mapping& mapping) { return !mapping.exact_groups; }

/// Returns the time that ranks a tile. The ideal mapping's time is a bound that is equal for all tiles: they tie, and
/// the tile that moves the fewest bytes is shown.
[[nodiscard]] inline double ranking_time(const Mapping& mapping, Seconds predicted) {
  return is_ranked_by_time(mapping) ? predicted.value : 0;
}

}  // namespace napkin::internal
