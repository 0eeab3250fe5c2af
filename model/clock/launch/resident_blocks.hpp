#pragma once
// resident_clocks computes a launch whose nodes hold several blocks of unequal length at a time: under a causal mask
// the last blocks of a grid are the longest, and two of them on one node end later than one after the other on two.

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
  /// The clocks of work on a node over those of its blocks in sequence, by the number of resident blocks, less one.
  std::vector<double> shares;
  /// Relative range of the durations of equal blocks. Above 0, the result is the mean of several draws, so that it is
  /// continuous: which node a block goes to turns with any small change of a duration.
  double spread = 0;
};

/// Computes the clocks until the last block ends. Planes before the last rounds of blocks count as an even share of
/// every node.
[[nodiscard]] double resident_clocks(const ResidentLaunch& launch);

}  // namespace napkin::internal
