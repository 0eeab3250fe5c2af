#include "apps/library/answer/own_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "apps/library/rank/evaluate.hpp"

namespace napkin::internal {
namespace {

/// Returns the knob that counts the parts of the block's level.
KnobId parts_knob(const Mapping& mapping) {
  for (const LevelMapping& level : mapping.levels) {
    if (level.own_parts) return level.parts.front().second.knob;
  }
  return -1;
}

}  // namespace

std::optional<OwnPartsAnswer> own_parts_of(const Setup& setup, const PlacedDiagram& placed) {
  if (placed.own_parts == Count(0)) return std::nullopt;
  const KnobId knob = parts_knob(*setup.mapping);
  const auto kept = kept_placer(setup, setup.problem);
  const auto time_of = [&](const PlacedDiagram& tile) { return setup.workspace->predicted(tile).time; };
  const double own = time_of(placed).value;
  OwnPartsAnswer out{setup.mapping->knobs[static_cast<std::size_t>(knob)].name, placed.own_parts.get(),
                     placed.own_parts.get(), own, 0};
  // numbers of parts tried: several that cut the chunks equally are one launch
  std::vector<Count> tried{placed.blocks};
  Tile tile = placed.tile;
  for (const std::int64_t parts : setup.mapping->knobs[static_cast<std::size_t>(knob)].domain) {
    if (parts == 0) continue;
    tile.values[static_cast<std::size_t>(knob)] = parts;
    const PlacedDiagram other = kept->placer->place(tile);
    if (std::find(tried.begin(), tried.end(), other.blocks) != tried.end()) continue;
    tried.push_back(other.blocks);
    const double time = time_of(other).value;
    if (time < out.best_time) out.best = parts, out.best_time = time;
  }
  out.loss = own / out.best_time - 1;
  return out;
}

}  // namespace napkin::internal

namespace napkin {

using namespace internal;

std::string OwnPartsAnswer::text() const {
  std::string out =
      fmt::format("{}=0 leaves the number of parts to the kernel's own rule, which makes {}", knob, parts);
  if (best == parts) return out + "; no other number is faster";
  return out + fmt::format("; {}={} would take {:.4g} us, and the rule's number takes {:.1f} % longer", knob, best,
                           1e6 * best_time, 100 * loss);
}

}  // namespace napkin

namespace napkin::internal {}  // namespace napkin::internal
