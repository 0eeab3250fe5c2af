#pragma once
// node_rate() returns the bytes a clock that a node receives: 35 from an H200's L2 where all SMs read at once.

#include "model/mapping/placed.hpp"

namespace napkin::internal {

/// Returns the number of nodes that share the L2's rate, if fewer than all work and each gets more for it; 0 if each
/// gets the rate of all at once. Never below the number that a node's own rate can tell apart. Example: 120 of a B300's
/// 148 SMs get 89 bytes a clock each, all get 72.
[[nodiscard]] Count few_nodes(const Machine& machine, Count blocks);

/// Returns the number of nodes that share device memory for so many blocks: all, or few_nodes() if that says fewer;
/// else the number of blocks rounded down to three binary digits, 96 for 100, so that few kinds of graphs cover all
/// numbers.
[[nodiscard]] Count nodes_at_work(const Machine& machine, Count blocks);

/// Returns the bytes a clock and node over the pipe into the block's level while so many blocks move. Fewer nodes than
/// all share what all get at once, or the machine's total, up to what one gets alone, if the machine says that.
/// Infinite if no pipe has a rate.
[[nodiscard]] double node_rate(const PlacedDiagram& placed, Count blocks);

}  // namespace napkin::internal
