#pragma once
// schedule() says who runs how much: 1,024 blocks of 64 iterations on 132 nodes are 8 blocks and 512 iterations of the
// busiest node. (model/README.md, "Time: the roofline")

#include "model/mapping/placed.hpp"

namespace napkin {

/// Of a block's chunks, in the order in which it walks them, how many at its start and at its end are cut: the mask or
/// the array's end hides a part of them.
struct CutChunks {
  double first = 0, last = 0;
  [[nodiscard]] double all() const { return first + last; }
};

/// The mean over the blocks.
[[nodiscard]] CutChunks cut_chunks(const PlacedDiagram& placed);

/// Who runs how much. Iterations and blocks of the busiest compute node, and in all.
struct Schedule {
  double iterations = 0;        ///< of the busiest node
  double blocks = 0;            ///< of the busiest node
  double total_iterations = 0;  ///< of all blocks
  double total_blocks = 0;
  double nodes = 1;    ///< that blocks can run on: whole clusters only
  double longest = 0;  ///< iterations of a block
};

/// The busiest node's iterations: the longest block's, an even share of all rounded up, or what a node must take that
/// runs ceil(blocks / nodes) blocks, whichever is the most. For the last, block lengths are taken to fall evenly from
/// the longest (with the mean that the mask gives): n nodes run k n + 1 blocks only if one of them runs k + 1 blocks,
/// none shorter than the last. Equal blocks: ceil(blocks / nodes) of them, exactly. How many blocks a node holds at a
/// time does not change its work. Packed sequences: of the blocks that have rows; of the busiest node's iterations the
/// first two alone.
[[nodiscard]] Schedule schedule(const PlacedDiagram& placed);

/// Bytes of the inputs and outputs once, without the inputs' columns that the mask hides from all rows: what must cross
/// from and to device memory whatever the tile.
[[nodiscard]] double compulsory_bytes(const PlacedDiagram& placed);

}  // namespace napkin
