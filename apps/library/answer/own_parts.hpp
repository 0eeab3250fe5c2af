#pragma once
// own_parts_of puts the number of parts that a kernel's own rule chooses beside the fastest number. Internal to apps/.

#include <optional>

#include "apps/library/question/question.hpp"
#include "model/mapping/placed.hpp"
#include "napkin/answers.hpp"

namespace napkin::internal {

/// Returns the kernel's own choice for a placed tile; nothing if a knob of the tile says how many parts there are.
[[nodiscard]] std::optional<OwnPartsAnswer> own_parts_of(const Setup& setup, const PlacedDiagram& placed);

}  // namespace napkin::internal
