#pragma once
// A Pick is a tile that a bench times on a card: one of the first of select's ranking with its prediction, or one given
// to the bench, "x=128,stages=3".

#include <optional>
#include <string>
#include <vector>

#include "napkin/napkin.hpp"
#include "tests/support/layout.hpp"

namespace napkin::internal::test {

struct Pick {
  Knobs tile;
  std::optional<double> predicted;  ///< seconds
};

/// Returns the first `count` tiles of select's ranking; none if nothing fits.
inline std::vector<Pick> ranked(const Ask& ask, int count) {
  const auto answer = select(ask, count);
  std::vector<Pick> out;
  if (!answer->found) return out;
  const auto add = [&](const TileValues& tile, double time) {
    Pick& pick = out.emplace_back();
    for (const KnobValue& knob : tile)
      pick.tile.emplace_back(knob.name, knob.word.empty() ? std::to_string(knob.number) : knob.word);
    pick.predicted = time;
  };
  add(answer->head.tile, answer->predicted->time);
  for (const auto& one : answer->alternatives) add(one.tile, one.predicted.time);
  return out;
}

}  // namespace napkin::internal::test
