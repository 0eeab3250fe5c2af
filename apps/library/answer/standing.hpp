#pragma once
// standing_of collects the reasons to trust a prediction or not: it is by the event graph, rests on numbers derived
// from a sibling (mma_sync_ports), and similar predictions are 12 % off. Internal to apps/.

#include <optional>

#include "apps/library/question/question.hpp"

namespace napkin::internal {

/// Returns the standing of a tile of a setup of the question; nothing if `parts` does not ask for it.
[[nodiscard]] std::optional<StandingAnswer> standing_of(const Question& question, const Setup& setup, const Tile& tile,
                                                        AnswerParts parts);

}  // namespace napkin::internal
