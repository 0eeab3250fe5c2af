#pragma once
// counterpart() finds a diagram in a larger one: multi-query attention is attention with one head of keys, whose
// group's heads are its own. Sizes of one then turn a question of the first into one of the second.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/diagram/diagram.hpp"

namespace napkin::internal {

/// The axes of a known diagram, each with the axis that it is in another one; none: it has the size 1 there.
using AxesOfKnown = std::vector<std::optional<AxisId>>;

/// Returns how `own` is `known` with axes of size 1: equal operations of equally named inputs, in the same order.
/// Nothing if it is not. Only axes whose default is 1 are left out; of several ways the one that keeps most names.
[[nodiscard]] std::optional<AxesOfKnown> counterpart(const Diagram& own, const Diagram& known);

}  // namespace napkin::internal
