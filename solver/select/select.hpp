#pragma once
// The configuration without tuning: the legal tile of least predicted time, with the reason and the runners-up.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/clock/prediction.hpp"
#include "solver/space/question.hpp"

namespace napkin {

struct Ranked {
  Tile tile;
  Prediction prediction;
};

struct Selection {
  std::vector<Ranked> ranked;  ///< best first, at most `top`; empty: nothing fits
  Count candidates;            ///< tiles in the space, legal or not
  Count legal;
  std::vector<std::pair<std::string, Count>> rejected;  ///< constraint -> tiles (each tile under the first it violates)
  std::string because;         ///< one sentence: what binds, and what the runner-up loses on
  std::string nearest;         ///< where nothing fits: the constraint that kept the most tiles out
};

/// Bounds and prunes; equal to select_exhaustively in its first `top`. Ties are broken by the knobs' order of preference.
[[nodiscard]] Selection select(const Question& question, int top);

/// Ranks every tile in full: the twin that select is tested against.
[[nodiscard]] Selection select_exhaustively(const Question& question, int top);

}  // namespace napkin
