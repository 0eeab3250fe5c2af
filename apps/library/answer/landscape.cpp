#include "apps/library/answer/landscape.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>

#include "apps/library/rank/select_kernel.hpp"

namespace napkin::internal {
namespace {

constexpr std::size_t most_values = 24;  // values of a knob that one landscape shows at most
/// Cells of all landscapes beyond the first at most: each cell ranks some thousands of tiles.
constexpr std::size_t most_cells = 250;

/// The tiles of one setup, all knobs free, also those that the user fixed by --tile.
class Tiles {
 public:
  Tiles(const Setup& setup, const Tile& chosen) : setup_(setup), chosen_(chosen) { setup_.fixed.clear(); }

  [[nodiscard]] const Knob& knob(std::size_t k) const { return setup_.mapping->knobs[k]; }
  [[nodiscard]] std::size_t knobs() const { return setup_.mapping->knobs.size(); }
  [[nodiscard]] std::int64_t chosen(std::size_t k) const { return chosen_.values[k]; }

  /// Returns values to show, by size (words by preference), the chosen one among them.
  [[nodiscard]] std::vector<std::int64_t> values(std::size_t k) const {
    std::vector<std::int64_t> all = knob(k).domain;
    if (std::find(all.begin(), all.end(), chosen(k)) == all.end()) all.push_back(chosen(k));
    if (knob(k).words.empty()) std::sort(all.begin(), all.end());
    if (all.size() <= most_values) return all;
    const std::size_t step = (all.size() + most_values - 1) / most_values;
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i % step == 0 || all[i] == chosen(k)) out.push_back(all[i]);
    }
    return out;
  }

  [[nodiscard]] LandscapeCell best(const std::vector<std::pair<std::size_t, std::int64_t>>& fixed) const {
    Setup setup = setup_;
    for (const auto& [k, value] : fixed) setup.fixed.emplace_back(static_cast<KnobId>(k), value);
    const Ranking ranking(setup);
    LandscapeCell cell;
    cell.chosen = std::all_of(fixed.begin(), fixed.end(), [&](const auto& f) { return chosen(f.first) == f.second; });
    if (ranking.empty()) {
      cell.reason = nearest_constraint(ranking.count_rejections());
      return cell;
    }
    cell.time = ranking.best().prediction.time.value;
    cell.tile = values_of(*setup.mapping, ranking.best().tile);
    return cell;
  }

 private:
  Setup setup_;
  const Tile& chosen_;
};

/// Returns how far apart the best times with each of the knob's values are, as a fraction; below 0 where it has no
/// choice.
double spread_of(const Tiles& tiles, std::size_t knob) {
  if (!tiles.knob(knob).searched) return -1;
  double least = 0, longest = 0;
  std::size_t legal = 0;
  for (const std::int64_t value : tiles.values(knob)) {
    const LandscapeCell cell = tiles.best({{knob, value}});
    if (!cell.time) continue;
    least = legal == 0 ? *cell.time : std::min(least, *cell.time);
    longest = std::max(longest, *cell.time);
    ++legal;
  }
  return legal < 2 ? -1 : longest / least - 1;
}

/// Returns the knobs that have a choice, those that change the time the most first.
std::vector<std::size_t> by_effect(const Tiles& tiles) {
  std::vector<double> spread(tiles.knobs());
  std::vector<std::size_t> order;
  for (std::size_t k = 0; k < tiles.knobs(); ++k) {
    spread[k] = spread_of(tiles, k);
    if (spread[k] >= 0) order.push_back(k);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return spread[a] > spread[b]; });
  return order;
}

KnobValue shown(const Knob& knob, std::int64_t value) {
  const bool word = !knob.words.empty() && value >= 0 && static_cast<std::size_t>(value) < knob.words.size();
  return {knob.name, value, word ? knob.words[static_cast<std::size_t>(value)] : ""};
}

LandscapeAnswer landscape_of(const Tiles& tiles, std::size_t a, std::size_t b) {
  const bool turned = tiles.values(a).size() < tiles.values(b).size();
  const std::size_t down = turned ? b : a, across = turned ? a : b;
  LandscapeAnswer out;
  out.down = tiles.knob(down).name, out.across = tiles.knob(across).name;
  out.down_unit = tiles.knob(down).unit, out.across_unit = tiles.knob(across).unit;
  const std::vector<std::int64_t> rows = tiles.values(down), columns = tiles.values(across);
  for (const std::int64_t value : rows) out.rows.push_back(shown(tiles.knob(down), value));
  for (const std::int64_t value : columns) out.columns.push_back(shown(tiles.knob(across), value));
  for (const std::int64_t row : rows) {
    for (const std::int64_t column : columns) out.cells.push_back(tiles.best({{down, row}, {across, column}}));
  }
  return out;
}

}  // namespace

std::vector<LandscapeAnswer> landscapes_of(const Setup& setup, const Tile& chosen, std::size_t most) {
  std::vector<LandscapeAnswer> out;
  if (setup.ideal) return out;
  const Tiles tiles(setup, chosen);
  const std::vector<std::size_t> order = by_effect(tiles);
  std::size_t cells = 0;
  for (std::size_t later = 1; later < order.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      const std::size_t own = tiles.values(order[earlier]).size() * tiles.values(order[later]).size();
      if (out.size() >= most) return out;
      if (!out.empty() && cells + own > most_cells) continue;
      if (!out.empty()) cells += own;
      out.push_back(landscape_of(tiles, order[earlier], order[later]));
    }
  }
  return out;
}

}  // namespace napkin::internal
