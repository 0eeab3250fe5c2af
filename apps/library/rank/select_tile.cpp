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

namespace napkin {
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

Tile preferred(const Layout& layout) {
  Tile tile;
  for (const Knob& knob : layout.mapping->knobs) tile.values.push_back(knob.domain.empty() ? 0 : knob.domain.front());
  for (const auto& [knob, value] : layout.fixed) tile.values[static_cast<std::size_t>(knob)] = value;
  return tile;
}

bool is_fixed(const Layout& layout, std::size_t knob) {
  return std::any_of(layout.fixed.begin(), layout.fixed.end(),
                     [&](const auto& fix) { return static_cast<std::size_t>(fix.first) == knob; });
}

}  // namespace

SelectedTile select_tile(const Request& request) {
  const Layout& first = request.layouts.front();
  if (request.abstract()) return {&first, abstract_tile(request, first), true};
  // Nothing is left to select where the user fixed every knob of the only layout.
  if (request.layouts.size() == 1 && first.fixed.size() == first.mapping->knobs.size())
    return {&first, preferred(first), true};
  Ranking ranking = select_kernel(request, 1);
  if (ranking.empty()) return {&ranking.layout(), least_illegal(ranking.layout()), false};
  return {&ranking.layout(), ranking.best().tile, true, std::move(ranking.left_out)};
}

Tile least_illegal(const Layout& layout) {
  const Placer placer = placer_of(layout);
  Tile tile = preferred(layout);
  Distance best = distance_of(placer, tile);
  for (bool better = true; better && best.violations > 0;) {
    better = false;
    for (std::size_t knob = 0; knob < tile.values.size(); ++knob) {
      if (is_fixed(layout, knob) || !layout.mapping->knobs[knob].searched) continue;
      Tile other = tile;
      for (const std::int64_t value : layout.mapping->knobs[knob].domain) {
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

std::vector<OtherSetting> other_settings(const Layout& layout, const Tile& tile) {
  const Placer placer = placer_of(layout);
  const auto names = [](const std::vector<Violation>& all) {
    std::set<std::string> out;
    for (const Violation& one : all) out.insert(one.constraint);
    return out;
  };
  const std::set<std::string> shown = names(place(placer, tile).violations);
  std::vector<OtherSetting> out;
  for (std::size_t knob = 0; knob < tile.values.size(); ++knob) {
    if (is_fixed(layout, knob) || !layout.mapping->knobs[knob].searched) continue;
    Distance best;
    std::optional<OtherSetting> nearest;
    for (const std::int64_t value : layout.mapping->knobs[knob].domain) {
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

Tile abstract_tile(const Request& request, const Layout& layout) {
  const auto size_of = [&](const NamedSizes& sizes, const std::string& name) {
    for (const auto& [axis, size] : sizes) {
      if (axis == name) return size;
    }
    return std::int64_t{1};
  };
  NamedSizes named;
  for (const auto& [knob, value] : layout.fixed)
    named.emplace_back(layout.mapping->knobs[static_cast<std::size_t>(knob)].name, value);
  const NamedSizes chosen = integer_groups(request, *layout.streamed, named);
  Tile tile;
  for (const Knob& knob : layout.mapping->knobs) tile.values.push_back(size_of(chosen, knob.name));
  return tile;
}

}  // namespace napkin
