#pragma once
// Blocks onto compute nodes: from one block's clocks to a launch's. (model/README.md section 12)

#include "model/clock/period.hpp"
#include "model/mapping/placed.hpp"

namespace napkin {

struct LaunchClocks {
  double busiest = 0;  ///< of the node that runs longest: what a launch takes
  double mean = 0;     ///< over the nodes: what a counter of active cycles reads where blocks persist
};

/// Clocks of a node for a launched block that has no rows of its sequence of a packed batch: one that a launch starts
/// takes what a block that does nothing takes; tiles that blocks draw cost a draw from the L2 and its message to the
/// block's other threads; tiles that are dealt out, nothing. (eq. 12.15)
[[nodiscard]] double empty_block_clocks(const PlacedDiagram& placed);

/// Blocks one after the other on a node; of unequal length (masks) onto nodes in the kernel's order, as a knob `order`
/// says: `persistent` deals them out in turn, else the next goes to the first node that is free, the longest first
/// (`longest_first`) or in order (`grid`, or no such knob). With `grid` every block starts cold when its predecessor has
/// ended; else blocks persist and overlap. Packed sequences: the blocks of the launch in its order, each with the length of
/// its rows of its sequence.
[[nodiscard]] LaunchClocks launch_clocks(const PlacedDiagram& placed, const EventGraph& graph, const Period& period);

/// At most launch_clocks().busiest, without putting blocks of unequal length onto nodes: that where all are equally
/// long, else the mean over the nodes, and a block of mean length (packed: of the length whose blocks take longest).
[[nodiscard]] double launch_clocks_bound(const PlacedDiagram& placed, const EventGraph& graph, const Period& period);

}  // namespace napkin
