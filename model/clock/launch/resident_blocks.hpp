#pragma once
// resident_clocks computes a launch whose nodes hold several blocks of unequal length at a time. Under a causal mask a
// grid's last blocks are the longest, and two of them that share a node end later than two that have a node each.

#include <cstdint>
#include <vector>

#include "model/resource/block_ids.hpp"

namespace napkin::internal {

/// The planes of a launch, in order.
struct BlockPlanes {
  struct Run {
    std::size_t kind = 0;  ///< index into `kinds`
    std::int64_t planes = 1;
  };
  std::vector<std::vector<EqualBlocks>> kinds = {};  ///< planes that differ: runs of equal blocks, in order
  std::vector<Run> runs = {};                        ///< planes of one kind, one after another
};

/// The blocks of a launch, plane after plane, each of which goes to the first node that has room.
struct ResidentLaunch {
  BlockPlanes blocks;
  std::size_t nodes = 1;
  double iteration = 0, beyond = 0;  ///< clocks of an iteration, and of a block beyond its iterations
  /// shares[n - 1]: time of n resident blocks together over their time one after the other.
  std::vector<double> shares;
  /// Relative range of the durations of equal blocks. Above 0, durations are drawn several times and results averaged:
  /// a small change may send a block to another node, and the mean smooths such jumps.
  double spread = 0;
};

/// Computes the clocks until the last block ends. All planes but the last few count as divided evenly over the nodes.
[[nodiscard]] double resident_clocks(const ResidentLaunch& launch);

}  // namespace napkin::internal
