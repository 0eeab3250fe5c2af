#pragma once
// A Question is the solver's input: attention at 8192 queries on an H200 with attention_sm90, stages fixed at 2. It has
// values only; everything else is derived from it.

#include <utility>
#include <vector>

#include "model/diagram/problem.hpp"
#include "model/fusion/streamed.hpp"
#include "model/machine/machine.hpp"
#include "model/mapping/mapping.hpp"
#include "model/mapping/tile.hpp"

namespace napkin {

struct Question {
  const Streamed* streamed = nullptr;
  const Mapping* mapping = nullptr;
  const Machine* machine = nullptr;
  Problem problem;
  /// Knobs that the user fixed (--tile); the others are free.
  std::vector<std::pair<KnobId, std::int64_t>> fixed;
};

}  // namespace napkin
