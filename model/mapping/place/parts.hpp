#pragma once
// parts_of says which statements of a program a placed kernel does in parts: variables that hold 32 of a chunk's 64
// keys make the softmax and the product that use them go in parts of 32 keys.

#include "model/fusion/program.hpp"
#include "model/mapping/placed.hpp"

namespace napkin::internal {

/// Returns an operation's parts: those of the variables that it reads or makes; for a store those of its staging
/// variable. A softmax renews its maximum for each part if the mapping counts work for that (`per_chunk`). Keeps a
/// pointer to `placed`.
[[nodiscard]] PartsOf parts_of(const PlacedDiagram& placed);

}  // namespace napkin::internal
