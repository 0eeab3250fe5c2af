#pragma once
// least_transfer finds the legal tile that moves the fewest bytes into the level where a block lives, whatever it costs
// in time: for attention with d = 128 on an H200 a tile of 192 queries. Internal to apps/.

#include <cstdint>
#include <optional>

#include "apps/library/question/request.hpp"
#include "napkin/answers.hpp"

namespace napkin {

/// What groups of such sizes move where a block lives, in chunks of 1. In values on the abstract machine.
[[nodiscard]] std::int64_t moved_by(const Layout& layout, const NamedSizes& group);

/// In bytes; nothing where no tile is legal. Kept in the layout's workspace.
[[nodiscard]] std::optional<OptimumAnswer::Integer> least_transfer(const Layout& layout);

}  // namespace napkin
