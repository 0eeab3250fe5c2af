#pragma once
// A Setup is the solver's input: attention at 8192 queries on an H200 with attention_sm90, stages fixed at 2. It owns
// its parts; copies share them.

#include <memory>
#include <utility>
#include <vector>

#include "model/diagram/problem.hpp"
#include "model/fusion/streamed.hpp"
#include "model/machine/machine.hpp"
#include "model/mapping/mapping.hpp"
#include "model/mapping/tile.hpp"

namespace napkin::internal {

class Workspace;

/// A mapping on a machine, with the diagram that streams under it and a problem.
struct Setup {
  std::shared_ptr<const Streamed> streamed;
  std::shared_ptr<const Mapping> mapping;
  std::shared_ptr<const Machine> machine;
  Problem problem;  ///< problem of this mapping: with heads as queries, if it packs them
  /// Knobs that the user fixed (--tile); the others are free.
  std::vector<std::pair<KnobId, std::int64_t>> fixed;
  bool ideal = false;  ///< true if each array lies at the lowest level that holds it: no kernel
  std::shared_ptr<Workspace> workspace = nullptr;  ///< memory that setups of these three parts share

  /// Returns true for a kernel of this repository, which can be launched; a peer's is only a mapping.
  [[nodiscard]] bool bundled() const { return !ideal && !mapping->source.empty(); }
};

}  // namespace napkin::internal
