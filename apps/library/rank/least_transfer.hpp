#pragma once
// least_transfer finds the legal tile that moves the fewest bytes into the level where a block lives, whatever it costs
// in time: for attention with d = 128 on an H200 a tile of 192 queries. Internal to apps/.

#include <cstdint>
#include <optional>

#include "apps/library/question/question.hpp"
#include "napkin/answers.hpp"

namespace napkin::internal {

/// Returns the bytes that groups of such sizes move into a block's level, in chunks of 1; values on the abstract
/// machine.
[[nodiscard]] std::int64_t moved_by(const Setup& setup, const NamedSizes& group);

/// Finds the least transfer of any legal tile, in bytes; nothing if no tile is legal. Keeps it in the setup's
/// workspace.
[[nodiscard]] std::optional<OptimumAnswer::Integer> least_transfer(const Setup& setup);

}  // namespace napkin::internal
