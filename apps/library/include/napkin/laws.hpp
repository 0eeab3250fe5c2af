#pragma once
// Laws are lower bounds for every tile of an algorithm on a machine: the bytes that it moves into each level, and the
// rates that the pipes need to keep the tensor units busy. For attention with 8,192 queries and keys of 16 heads,
// H* = 2 q d + 4 q x d^2 / M into the shared memory of an H200 is 1.28 GB, which takes 151 us. (model/README.md,
// "Several levels" and "Bandwidth minima")

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace napkin {

/// The ideal cost of a level: the least transfer into its memory, and the time of that transfer over its pipe.
struct LevelLaw {
  std::string name;
  double memory = 0;    ///< effective memory, bytes of one node (for a cache: of its children together)
  double transfer = 0;  ///< least transfer H*, bytes
  double time = 0;      ///< seconds of its part of the weighted sum (eq. 7.1)
  double needed = 0;    ///< bytes a second at which moving H* takes as long as the tensor units compute; 0: not known
  double rate = 0;      ///< bytes a second of its pipe
  double energy = 0;    ///< joules of moving H* over its pipe; 0: the profile has no energy of a byte there
  /// Factors w M^-beta of each term of H*, by beta, which show the term in which two levels or machines differ. (eq.
  /// 7.1)
  std::vector<std::pair<double, double>> factors = {};
};

/// The effect of clusters of several nodes (eq. 7.4): a cluster loads from the level above as a node of memory N M
/// would, and its nodes exchange the rest.
struct CrossLaw {
  std::string level;
  std::int64_t nodes = 1;
  double above = 0;     ///< bytes from the level above, H*(N M)
  double between = 0;   ///< bytes between the nodes, H*(M) - H*(N M)
  double time = 0;      ///< seconds of the bytes between the nodes
  double weighted = 0;  ///< seconds of the sum over all levels, with clusters
};

/// The seconds of a call that clusters save over loads through the pipe alone that feeds their members.
struct ClusterLaw {
  std::string from;       ///< level at the pipe's upper end; device memory if the cache is left out
  bool measured = false;  ///< true for a measured rate of the pipe, false for the datasheet's
  std::int64_t size = 1;  ///< best cluster size; 1: none saves
  std::vector<std::pair<std::int64_t, double>> savings;
};

/// The least sizes at which one level's pipe keeps the tensor units fed. Matmul: memory (bytes of accumulators) and the
/// contracted axis; attention: rows of a group and keys.
struct MinimaLaw {
  std::string level;
  std::vector<std::pair<std::string, double>> least;
};

/// The division of a cache's tile among the compute nodes below it: nodes along each axis, and transfers over the
/// ideal.
struct CachingLaw {
  std::string level;
  std::vector<std::int64_t> factors;
  double ratio = 1;
};

/// The laws of an algorithm on a machine. They count all pairs, masked or not.
struct Laws {
  std::vector<LevelLaw> levels;
  std::string bound;            ///< slowest of the levels' pipes
  double weighted = 0;          ///< seconds of H* over all levels, each at its pipe's rate (eq. 7.1)
  double computing = 0;         ///< seconds of the contractions at the tensor units' peak; 0: the profile has none
  double operations = 0;        ///< FLOP of the contractions, all pairs
  double computing_energy = 0;  ///< joules of the contractions in the tensor units; 0: not known
  std::vector<CrossLaw> crossings;
  std::vector<ClusterLaw> clusters;
  std::vector<MinimaLaw> minima;
  std::optional<CachingLaw> caching;
};

}  // namespace napkin
