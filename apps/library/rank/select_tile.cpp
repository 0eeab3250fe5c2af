#include "apps/library/rank/select_tile.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/optimum.hpp"
#include "apps/library/rank/select_kernel.hpp"

namespace napkin::internal {
namespace {

/// The distance of a tile from legality: the number of violations, then the sum of the powers of two by which they
/// miss.
struct Distance {
  std::size_t violations = std::numeric_limits<std::size_t>::max();
  double excess = 0;
  bool operator<(const Distance& other) const {
    return violations != other.violations ? violations < other.violations : excess < other.excess;
  }
};

Distance distance_of(const Placer& placer, const Tile& tile) {
  try {
    const Placement placement = place(placer, tile);
    Distance distance{placement.violations.size(), 0};
    for (const Violation& v : placement.violations) {
      distance.excess += std::abs(std::log2(std::max(v.needed, 1.0) / std::max(v.available, 1.0)));
    }
    return distance;
  } catch (const Overflow&) {
    return {};
  }
}

Tile preferred(const Setup& setup) {
  Tile tile;
  for (const Knob& knob : setup.mapping->knobs) tile.values.push_back(knob.domain.empty() ? 0 : knob.domain.front());
  for (const auto& [knob, value] : setup.fixed) tile.values[static_cast<std::size_t>(knob)] = value;
  return tile;
}

bool is_fixed(const Setup& setup, std::size_t knob) {
  return std::any_of(setup.fixed.begin(), setup.fixed.end(),
                     [&](const auto& fix) { return static_cast<std::size_t>(fix.first) == knob; });
}

}  // namespace

SelectedTile select_tile(const Question& question) {
  const Setup& first = question.setups.front();
  if (question.abstract()) return {&first, abstract_tile(question, first), true};
  // Nothing is left to select where the user fixed every knob of the only setup.
  if (question.setups.size() == 1 && first.fixed.size() == first.mapping->knobs.size())
    return {&first, preferred(first), true};
  Ranking ranking = select_kernel(question, 1);
  if (ranking.empty()) return {&ranking.setup(), least_illegal(ranking.setup()), false};
  return {&ranking.setup(), ranking.best().tile, true, std::move(ranking.left_out)};
}

Tile least_illegal(const Setup& setup) {
  const Placer placer = placer_of(setup);
  Tile tile = preferred(setup);
  Distance best = distance_of(placer, tile);
  for (bool better = true; better && best.violations > 0;) {
    better = false;
    for (std::size_t knob = 0; knob < tile.values.size(); ++knob) {
      if (is_fixed(setup, knob) || !setup.mapping->knobs[knob].searched) continue;
      Tile other = tile;
      for (const std::int64_t value : setup.mapping->knobs[knob].domain) {
        other.values[knob] = value;
        const Distance distance = distance_of(placer, other);
        if (!(distance < best)) continue;
        best = distance;
        tile = other;
        better = true;
      }
    }
  }
  return tile;
}

std::vector<OtherSetting> other_settings(const Setup& setup, const Tile& tile) {
  const Placer placer = placer_of(setup);
  const auto names = [](const std::vector<Violation>& all) {
    std::set<std::string> out;
    for (const Violation& one : all) out.insert(one.constraint);
    return out;
  };
  const std::set<std::string> shown = names(place(placer, tile).violations);
  std::vector<OtherSetting> out;
  for (std::size_t knob = 0; knob < tile.values.size(); ++knob) {
    if (is_fixed(setup, knob) || !setup.mapping->knobs[knob].searched) continue;
    Distance best;
    std::optional<OtherSetting> nearest;
    for (const std::int64_t value : setup.mapping->knobs[knob].domain) {
      Tile other = tile;
      other.values[knob] = value;
      const Distance distance = distance_of(placer, other);
      if (!(distance < best)) continue;
      std::vector<Violation> broken = place(placer, other).violations;
      const std::set<std::string> now = names(broken);
      const auto has = [](const auto& all, const auto& some) {
        return std::includes(all.begin(), all.end(), some.begin(), some.end());
      };
      if (has(shown, now) || has(now, shown)) continue;
      best = distance;
      nearest = {static_cast<KnobId>(knob), value, std::move(broken)};
    }
    if (nearest) out.push_back(std::move(*nearest));
  }
  return out;
}

Tile abstract_tile(const Question& question, const Setup& setup) {
  const auto size_of = [&](const NamedSizes& sizes, const std::string& name) {
    for (const auto& [axis, size] : sizes) {
      if (axis == name) return size;
    }
    return std::int64_t{1};
  };
  NamedSizes named;
  for (const auto& [knob, value] : setup.fixed)
    named.emplace_back(setup.mapping->knobs[static_cast<std::size_t>(knob)].name, value);
  const NamedSizes chosen = integer_groups(question, *setup.streamed, named);
  Tile tile;
  for (const Knob& knob : setup.mapping->knobs) tile.values.push_back(size_of(chosen, knob.name));
  return tile;
}

}  // namespace napkin::internal
