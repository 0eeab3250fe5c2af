#pragma once
// schedule() distributes work over nodes: 1,024 blocks of 64 iterations on 132 nodes are 8 blocks and 512 iterations of
// the busiest node. (model/README.md, "Time: the roofline")

#include "model/mapping/placed.hpp"

namespace napkin::internal {

/// The numbers of a block's chunks, in its own order, that are cut at its start and at its end: the mask or the array's
/// end hides a part of them.
struct CutChunks {
  double first = 0, last = 0;
  [[nodiscard]] double all() const { return first + last; }
};

/// Returns the mean over the blocks.
[[nodiscard]] CutChunks cut_chunks(const PlacedDiagram& placed);

/// The distribution of iterations and blocks: on the busiest compute node, and in all.
struct Schedule {
  double iterations = 0;        ///< iterations of the busiest node
  double blocks = 0;            ///< blocks of the busiest node
  double total_iterations = 0;  ///< iterations of all blocks
  double total_blocks = 0;
  double nodes = 1;    ///< nodes that blocks can run on, in whole clusters
  double longest = 0;  ///< iterations of a block
};

/// Returns the schedule. The busiest node runs at least the longest block, an even share of all iterations, and its
/// ceil(blocks / nodes) blocks, whose lengths are taken to fall evenly from the longest. Exact for blocks of equal
/// length.
[[nodiscard]] Schedule schedule(const PlacedDiagram& placed);

/// Returns the bytes that cross device memory for any tile: inputs and outputs once, without input columns that the
/// mask hides from all rows.
[[nodiscard]] double compulsory_bytes(const PlacedDiagram& placed);

}  // namespace napkin::internal
