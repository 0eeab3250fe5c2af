#pragma once
// parts_of says which statements of a program a placed kernel does in parts: variables that hold 32 of a chunk's 64
// keys make the softmax and the product that use them go in parts of 32 keys.

#include "model/fusion/program.hpp"
#include "model/mapping/placed.hpp"

namespace napkin {

/// An operation goes in the parts that variables of what it reads or makes have, a store in those of its staging
/// variable. Parts of a softmax renew its maximum where the mapping counts work that does so (`per_chunk`). Keeps a
/// pointer: use it before `placed` ends.
[[nodiscard]] PartsOf parts_of(const PlacedDiagram& placed);

}  // namespace napkin
