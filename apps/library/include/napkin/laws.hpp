#pragma once
// Laws say what any tile of an algorithm moves at least on a machine, level by level, and what its pipes must bring for
// the tensor units to be fed: attention's H* = 2 q d + 4 q x d^2 / M into the shared memory of an H200 is 1.28 GB of
// 8,192 queries and keys of 16 heads, which takes 151 us. (model/README.md, "Several levels" and "Bandwidth minima")

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace napkin {

/// What one level costs at best: the least transfer into it with its memory, and the time over its pipe.
struct LevelLaw {
  std::string name;
  double memory = 0;    ///< effective, bytes of one node (a cache: of its children together)
  double transfer = 0;  ///< H*, bytes
  double time = 0;      ///< seconds: its part of the weighted sum (eq. 7.1)
  double needed = 0;    ///< bytes a second at which moving H* takes as long as the tensor units compute; 0: not known
  /// w M^-beta of each term of H*, by beta: what decides between levels and machines (eq. 7.1).
  std::vector<std::pair<double, double>> factors = {};
};

/// What a cross-transfer level changes, of clusters of so many nodes (eq. 7.4): a cluster brings what N M would need
/// from the level above, its nodes hand each other the rest.
struct CrossLaw {
  std::string level;
  std::int64_t nodes = 1;
  double above = 0;     ///< H*(N M), bytes
  double between = 0;   ///< H*(M) - H*(N M), bytes
  double time = 0;      ///< seconds that those take between the nodes
  double weighted = 0;  ///< seconds: the sum over all levels then
};

/// What a cluster of that many blocks saves over the pipe that feeds its members, seconds of one call.
struct ClusterLaw {
  std::string from;       ///< the level at the pipe's upper end; device memory: as if there were no cache
  bool measured = false;  ///< the pipe's rate is a measured one, else the datasheet's
  std::int64_t size = 1;  ///< the best; 1: none saves
  std::vector<std::pair<std::int64_t, double>> savings;
};

/// The least that keeps the tensor units fed by one level's pipe. Matmul: memory (bytes of accumulators) and the
/// contracted axis; attention: rows of a group and keys.
struct MinimaLaw {
  std::string level;
  std::vector<std::pair<std::string, double>> least;
};

/// How the compute nodes below a cache would share its tile: nodes along each axis, and the transfers against the
/// ideal.
struct CachingLaw {
  std::string level;
  std::vector<std::int64_t> factors;
  double ratio = 1;
};

/// Of all pairs, whatever a mask hides.
struct Laws {
  std::vector<LevelLaw> levels;
  std::string bound;     ///< the slowest of the levels' pipes
  double weighted = 0;   ///< seconds: H* over all levels, each at its pipe's rate (eq. 7.1)
  double computing = 0;  ///< seconds of the contractions at the tensor units' peak; 0: the profile has none
  std::vector<CrossLaw> crossings;
  std::vector<ClusterLaw> clusters;
  std::vector<MinimaLaw> minima;
  std::optional<CachingLaw> caching;
};

}  // namespace napkin
