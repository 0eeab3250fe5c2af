#pragma once
// A CompareAnswer shows one algorithm on several machines and in several element types, side by side, with the laws
// that say why they differ: attention on an A100 and an H100, in bf16 and e4m3.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/library/answer.hpp"

namespace napkin {

/// What one level costs at best: the least transfer into it with its memory, and the time over its pipe.
struct LevelLaw {
  std::string name;
  double memory = 0;    ///< effective, bytes of one node (a cache: of its children together)
  double transfer = 0;  ///< H*, bytes
  double time = 0;      ///< seconds
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

struct Laws {
  std::vector<LevelLaw> levels;
  std::string bound;  ///< the slowest of the levels' pipes
  std::vector<ClusterLaw> clusters;
  std::vector<MinimaLaw> minima;
  std::optional<CachingLaw> caching;
};

struct ComparedMachine {
  SelectAnswer selected;
  std::optional<Laws> laws;  ///< none where the profile lacks a bandwidth that they need, and of packed sequences
  std::string refused;       ///< why nothing can be laid out there (no instruction for the type); empty: selected
};

/// What other element types are worth by the quantisation law: H* in bytes and seconds, first type over this one.
struct QuantisationAnswer {
  std::string gpu, from, to;
  double gain = 1;
  std::vector<std::pair<double, double>> terms;  ///< (beta, (from / to)^(1 + beta))
};

struct CompareAnswer {
  std::vector<ComparedMachine> machines;  ///< by GPU, then by type, as given
  std::vector<QuantisationAnswer> quantisation;
};

}  // namespace napkin
