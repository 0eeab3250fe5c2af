#pragma once
// These functions adapt a question to a kernel: flash_attention_2 computes heads of 80 as heads of 96, and the query
// heads of a group as further queries.

#include "model/diagram/problem.hpp"
#include "model/mapping/mapping.hpp"

namespace napkin::internal {

/// Leaves out keys that a window hides from single queries, and packs heads into queries where no mask hides one of
/// their keys, if the mapping says so (Mapping::deals_visible, packs); else returns the problem. Both compute the same
/// numbers and move the same arrays.
[[nodiscard]] Problem asked_of(const Mapping& mapping, const Diagram& diagram, const Problem& problem);

/// Returns true if the kernel takes a mask of that kind; a kernel without a list of masks takes any whose rows see a
/// band.
[[nodiscard]] bool takes_mask(const Mapping& mapping, Mask::Kind mask);

/// Returns the size of an axis as the kernel holds it: padded, if it pads. An unsupported size is returned unchanged.
[[nodiscard]] Count held_size(const Mapping& mapping, const Diagram& diagram, const Problem& problem, AxisId axis);

/// Checks that the axes that a mapping packs are adjacent in every array of the diagram. Throws Error.
void check_packs(const Mapping& mapping, const Diagram& diagram);

}  // namespace napkin::internal
