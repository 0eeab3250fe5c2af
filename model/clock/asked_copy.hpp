#pragma once
// Copies of boxes that a thread asks for one after the other, from the L2 while all nodes copy. (model/README.md
// section 12)

#include "model/mapping/placed.hpp"

namespace napkin {

struct AskedCopy {
  double clocks = 0;   ///< of the pipe into the node: what it lets through, of tiles that other blocks read too
  double latency = 0;  ///< behind that, until all of it is there: it comes at the rate of distinct lines (the pipe's own apart)
};

/// One buffer's copy. A row of a box takes what the L2 hands out at once, however narrow it is.
[[nodiscard]] AskedCopy asked_copy(const PlacedDiagram& placed, const Crossing& crossing);

/// Clocks of the thread that asks for its boxes; 0 where the machine does not say.
[[nodiscard]] double boxes_clocks(const PlacedDiagram& placed, const Crossing& crossing);

/// Clocks of that thread from one buffer's boxes to the next one's.
[[nodiscard]] double asking_clocks(const PlacedDiagram& placed);

/// Rows of L2 granules that a box's row stands for: 1 from 64 bytes on.
[[nodiscard]] double granules_of(const PlacedDiagram& placed, const Crossing& crossing);

/// Whether blocks of other groups bring the same.
[[nodiscard]] bool read_by_others(const PlacedDiagram& placed, const Crossing& crossing);

/// From one block of a cluster to another; 0 where the machine has none.
[[nodiscard]] double cluster_latency(const Machine& machine);

}  // namespace napkin
