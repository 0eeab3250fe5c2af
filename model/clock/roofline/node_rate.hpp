#pragma once
// node_rate is what a node gets of the pipe into it: 35 bytes a clock of an H200's L2 where all SMs read at once.

#include "model/mapping/placed.hpp"

namespace napkin {

/// Nodes that share what the L2 hands out, where they are fewer than all and each gets more for it; 0 where nodes get
/// the rate of all at once. Fewer nodes than one node's own rate tells apart count as that many. Example: of a B300's
/// 148 SMs 120 get 89 bytes a clock each, where all get 72.
[[nodiscard]] Count few_nodes(const Machine& machine, Count blocks);

/// Nodes at work on so many blocks, which share device memory: all, or where there are fewer blocks few_nodes(), else
/// as many as blocks to three binary digits, 96 for 100, so that graphs of few kinds stand for all numbers.
[[nodiscard]] Count nodes_at_work(const Machine& machine, Count blocks);

/// Bytes a clock and node over the pipe into the block's level while so many blocks move: few nodes get more each,
/// where the machine says how much there is for all. Infinite where no pipe says.
[[nodiscard]] double node_rate(const PlacedDiagram& placed, Count blocks);

}  // namespace napkin
