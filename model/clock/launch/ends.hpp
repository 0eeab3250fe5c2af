#pragma once
// Ends are the clocks of a node's blocks, one after the other: the first one waits for the launch, each later one for
// the block before it. All ways of putting blocks onto nodes share them. Internal to launch/.

#include <algorithm>

#include "model/clock/launch/launch.hpp"

namespace napkin::internal {

/// Returns true if each block or tile goes to the first free node.
inline bool goes_to_first_free(BlockOrder order) {
  return order == BlockOrder::grid || order == BlockOrder::longest_first;
}

/// The clocks of a node's blocks in sequence, beside their iterations.
struct Ends {
  double start = 0;  ///< excess of the node's first block over a later one
  double each = 0;   ///< clocks of a later block

  Ends(const BlockEnds& ends, const BlockClocks& block)
      : each(ends.persist ? block.next : block.first + ends.start + ends.handover) {
    start = block.first + ends.start - each;
  }
  /// Returns the clocks of the longest block alone on a node; `mean` is the blocks' mean length.
  [[nodiscard]] double of_longest(const Schedule& who, double mean, double iteration) const {
    return start + each + std::max(who.longest - mean, 0.0) * iteration;
  }
  /// Returns the clocks of a node with blocks of equal length. The mean block gives the ends of all blocks; an
  /// iteration more or less takes the period.
  [[nodiscard]] double of_equal_blocks(const Schedule& who, double mean, double iteration) const {
    return start + who.blocks * each + (who.iterations - who.blocks * mean) * iteration;
  }
};

/// Returns the clocks of a block of mean length.
inline BlockClocks clocks_of_mean(const EventGraph& graph, const Period& period, const LaunchShape& shape) {
  return block_clocks(graph, period, shape.mean, shape.cut);
}

}  // namespace napkin::internal
