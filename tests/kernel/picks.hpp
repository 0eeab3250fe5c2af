#pragma once
// A Pick is a tile that a program times on a card: one of the first of select's ranking with what was predicted, or one
// as text, "x=128,stages=3".

#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "apps/library/napkin.hpp"
#include "model/base/error.hpp"
#include "tests/laid_out.hpp"

namespace napkin::test {

/// "1,8,4" in its parts.
inline std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) out.push_back(part);
  return out;
}

/// "x=128,stages=3". Throws Error.
inline Knobs knobs_of(const std::string& text) {
  Knobs out;
  for (const std::string& part : parts_of(text)) {
    const auto equals = part.find('=');
    if (equals == std::string::npos) throw Error("--tile", "'" + part + "' is not name=value");
    out.emplace_back(part.substr(0, equals), part.substr(equals + 1));
  }
  return out;
}

struct Pick {
  Knobs tile;
  std::optional<double> predicted;  ///< seconds
};

/// The first `count` tiles of select's ranking; none where nothing fits.
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
  for (const auto& one : answer->alternatives) add(one.tile, one.predicted.get().time);
  return out;
}

}  // namespace napkin::test
