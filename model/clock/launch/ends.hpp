#pragma once
// Ends are the clocks of a node's blocks, one after the other: the first one waits for the launch, each later one for
// the block before it. All ways of putting blocks onto nodes share them. Internal to launch/.

#include <algorithm>

#include "model/clock/launch/launch.hpp"

namespace napkin {

/// Whether blocks are drawn or launched one after the other, each by the first node that is free.
inline bool goes_to_first_free(BlockOrder order) {
  return order == BlockOrder::grid || order == BlockOrder::longest_first;
}

/// The clocks of a node's blocks, one after the other.
struct Ends {
  double start = 0;  ///< by which the node's first block is longer than a later one
  double each = 0;   ///< of a later block

  Ends(const BlockEnds& ends, const BlockClocks& block)
      : each(ends.persist ? block.next : block.first + ends.start + ends.handover) {
    start = block.first + ends.start - each;
  }
  /// Of the longest block alone on a node, of blocks of that mean length.
  [[nodiscard]] double of_longest(const Schedule& who, double mean, double iteration) const {
    return start + each + std::max(who.longest - mean, 0.0) * iteration;
  }
  /// Of a node whose blocks are equally long. The mean block stands for the ends of all blocks; an iteration more or
  /// less takes the period.
  [[nodiscard]] double of_equal_blocks(const Schedule& who, double mean, double iteration) const {
    return start + who.blocks * each + (who.iterations - who.blocks * mean) * iteration;
  }
};

/// Of a block of mean length.
inline BlockClocks clocks_of_mean(const EventGraph& graph, const Period& period, const LaunchShape& shape) {
  return block_clocks(graph, period, shape.mean, shape.cut);
}

}  // namespace napkin
