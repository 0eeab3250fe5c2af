#pragma once
// seeing_blocks() counts the blocks that see anything under a mask: of 1,024 queries over 64 keys under a causal mask,
// the blocks of the last queries. Other blocks load nothing. Internal to model/resource.

#include "model/mapping/placed.hpp"

namespace napkin::internal {

struct SeeingBlocks {
  Count groups;   ///< pairs of a group across and a part of the streamed axis that it sees something of
  Count members;  ///< members of the axis across, over all such pairs
};

/// Counts blocks of `extent` members across and `part` of the streamed axis. Requires a mask that leaves chunks out.
[[nodiscard]] SeeingBlocks seeing_blocks(const PlacedDiagram& placed, Count extent, Count part);

}  // namespace napkin::internal
