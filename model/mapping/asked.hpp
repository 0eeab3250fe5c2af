#pragma once
// These functions say what a kernel is asked where that is not word for word the question: flash_attention_2 runs heads
// of 80 as heads of 96, and takes the heads of a group for further queries.

#include "model/diagram/problem.hpp"
#include "model/mapping/mapping.hpp"

namespace napkin {

/// The problem with heads packed into queries where the mapping says so (Mapping::packs) and no mask hides a key of
/// them; otherwise as it stands. Both compute the same numbers and move the same arrays.
[[nodiscard]] Problem asked_of(const Mapping& mapping, const Diagram& diagram, const Problem& problem);

/// The size of an axis as the kernel holds it: padded, where it pads. A size that it does not support stays.
[[nodiscard]] Count held_size(const Mapping& mapping, const Diagram& diagram, const Problem& problem, AxisId axis);

/// Refuses a mapping whose packed axes do not stand side by side in every array of the diagram. Throws Error.
void check_packs(const Mapping& mapping, const Diagram& diagram);

}  // namespace napkin
