#pragma once
// select_tile returns the one tile that a query is about: the user's knobs, and for the others the values that select
// selects. `--tile x=128` leaves q, stages and the rest to select. Internal to apps/.

#include <cstdint>
#include <vector>
#include "apps/library/question/question.hpp"
#include "solver/space/constraints.hpp"

namespace napkin::internal {

/// A tile, legal or not, and the setup whose knobs it sets. Points into the question.
struct SelectedTile {
  const Setup* setup = nullptr;
  Tile tile;
  bool fits = true;                        ///< false if no tile with the user's knobs is legal
  std::vector<std::string> left_out = {};  ///< kernels of the architecture that cannot answer, and why
};
[[nodiscard]] SelectedTile select_tile(const Question& question);

/// Returns a tile with the user's knobs for a setup without legal tiles: its other knobs, searched in turn from the
/// preferred values, violate the fewest constraints.
[[nodiscard]] Tile least_illegal(const Setup& setup);

/// Another value of a knob that the user has not named, and its violations.
struct OtherSetting {
  KnobId knob = 0;
  std::int64_t value = 0;
  std::vector<Violation> violations;
};
/// Returns, for an illegal tile, the value of each unnamed knob that keeps a constraint which the tile violates, and
/// violates another, by the least: with q_in=shared the registers fit, and shared memory does not.
[[nodiscard]] std::vector<OtherSetting> other_settings(const Setup& setup, const Tile& tile);

/// Makes the tile on the abstract machine: the user's sizes, streams in chunks of 1, and the exact optimum of the other
/// axes.
[[nodiscard]] Tile abstract_tile(const Question& question, const Setup& setup);

}  // namespace napkin::internal
