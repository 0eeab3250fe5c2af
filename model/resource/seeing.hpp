#pragma once
// seeing_blocks() counts the blocks that see anything under a mask: of 1,024 queries over 64 keys, the last ones of a
// causal mask. The others load nothing. Internal to model/resource.

#include "model/mapping/placed.hpp"

namespace napkin {

struct SeeingBlocks {
  Count groups;   ///< pairs of a group across and a part of the streamed axis of which it sees something
  Count members;  ///< of the axis across, of all those groups
};

/// The blocks of `extent` members across and `part` of the streamed axis. Only where the mask leaves chunks out.
[[nodiscard]] SeeingBlocks seeing_blocks(const PlacedDiagram& placed, Count extent, Count part);

}  // namespace napkin
