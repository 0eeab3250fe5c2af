#pragma once
// parts_of returns the parts in which a placed kernel does a statement of its program: if variables hold 32 of a
// chunk's 64 keys, the softmax and the product that use them take 32 keys at a time.

#include "model/fusion/program.hpp"
#include "model/mapping/placed.hpp"

namespace napkin::internal {

/// Returns an operation's parts: those of the variables that it reads or makes; for a store those of its staging
/// variable. A softmax renews its maximum for each part if the mapping counts work for that (`per_chunk`). Keeps a
/// pointer to `placed`.
[[nodiscard]] PartsOf parts_of(const PlacedDiagram& placed);

}  // namespace napkin::internal
