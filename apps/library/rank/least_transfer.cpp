#include "apps/library/rank/least_transfer.hpp"

#include <algorithm>

#include "apps/library/question/workspace.hpp"
#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/select_kernel.hpp"
#include "model/mapping/placed.hpp"
#include "model/resource/resources.hpp"
#include "solver/space/constraints.hpp"

namespace napkin {
namespace {

/// A knob that sizes an axis at a block's level.
struct AxisKnob {
  KnobId knob = 0;
  std::string axis;
};

/// Returns the knobs that transfers depend on. The chunk of the stream is among them only if a mask leaves chunks out.
std::vector<AxisKnob> axis_knobs(const Layout& layout) {
  const bool masked = layout.problem.mask.kind != Mask::Kind::none;
  std::vector<AxisKnob> knobs;
  for (std::size_t i = 0; i < layout.mapping->knobs.size(); ++i) {
    const auto axis = layout.streamed->diagram.find_axis(layout.mapping->knobs[i].name);
    if (axis && (layout.streamed->grouped(*axis) || (masked && layout.streamed->stream == *axis)))
      knobs.push_back({static_cast<KnobId>(i), layout.mapping->knobs[i].name});
  }
  return knobs;
}

const std::vector<std::int64_t>& domain_of(const Layout& layout, const AxisKnob& knob) {
  return layout.mapping->knobs[static_cast<std::size_t>(knob.knob)].domain;
}

/// Sizes for the axes' knobs, and their transfer into a block's level.
struct Combination {
  Count transfer;
  std::vector<std::int64_t> values;
};

Count moved_home(const PlacedDiagram& placed) {
  for (const LevelTransfer& level : transfers(placed)) {
    if (level.level == placed.block().level) return level.transfer().value;
  }
  return 0;
}

/// Returns every combination of the axes' knobs, least transfer first.
std::vector<Combination> combinations(const Layout& layout, const std::vector<AxisKnob>& knobs) {
  const Placer placer(*layout.streamed, *layout.mapping, *layout.machine, layout.problem);
  Tile tile;
  for (const Knob& knob : layout.mapping->knobs) tile.values.push_back(knob.domain.front());
  std::vector<Combination> all;
  std::vector<std::size_t> digits(knobs.size(), 0);
  PlacedDiagram placed;
  for (bool more = true; more;) {
    Combination combination;
    for (std::size_t i = 0; i < knobs.size(); ++i) {
      combination.values.push_back(domain_of(layout, knobs[i])[digits[i]]);
      tile.values[static_cast<std::size_t>(knobs[i].knob)] = combination.values.back();
    }
    placer.place(tile, placed);
    combination.transfer = moved_home(placed);
    all.push_back(std::move(combination));
    more = false;
    for (std::size_t i = 0; i < knobs.size() && !more; ++i) {
      more = ++digits[i] < domain_of(layout, knobs[i]).size();
      if (!more) digits[i] = 0;
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.transfer < b.transfer; });
  return all;
}

/// Tiles whose only knobs are the axes' knobs: each is judged by itself, without a table.
class WholeTiles {
 public:
  WholeTiles(const Layout& layout, const std::vector<AxisKnob>& knobs)
      : placer_(*layout.streamed, *layout.mapping, *layout.machine, layout.problem),
        rules_(*layout.streamed, *layout.mapping, *layout.machine, layout.problem),
        all_given_(knobs.size() == layout.mapping->knobs.size()) {}

  [[nodiscard]] bool all_given() const { return all_given_; }
  [[nodiscard]] bool is_legal(const std::vector<std::pair<KnobId, std::int64_t>>& values) const {
    Tile tile;
    tile.values.resize(values.size());
    for (const auto& [knob, value] : values) tile.values[static_cast<std::size_t>(knob)] = value;
    for (const TileRule& rule : rules_.tile) {
      if (rule.check(tile)) return false;
    }
    const PlacedDiagram placed = placer_.place(tile);
    return violations(rules_, placed, plan(placed)).empty();
  }

 private:
  Placer placer_;
  Rules rules_;
  bool all_given_;
};

/// Finds the least transfer of a legal tile. Transfers depend on the axes' knobs alone: their combinations are tried in
/// ascending order until one has a legal tile.
std::optional<OptimumAnswer::Integer> find(const Layout& layout) {
  const std::vector<AxisKnob> knobs = axis_knobs(layout);
  Layout tried = layout;
  const WholeTiles whole(layout, knobs);
  for (const Combination& combination : combinations(layout, knobs)) {
    tried.fixed.clear();
    for (std::size_t i = 0; i < knobs.size(); ++i) tried.fixed.emplace_back(knobs[i].knob, combination.values[i]);
    if (!(whole.all_given() ? whole.is_legal(tried.fixed) : fits(tried))) continue;
    OptimumAnswer::Integer answer{combination.transfer.get(), {}};
    for (std::size_t i = 0; i < knobs.size(); ++i) answer.group.emplace_back(knobs[i].axis, combination.values[i]);
    return answer;
  }
  return std::nullopt;
}

}  // namespace

std::int64_t moved_by(const Layout& layout, const NamedSizes& group) {
  Tile tile;
  for (const Knob& knob : layout.mapping->knobs) {
    const auto is = [&](const auto& size) { return size.first == knob.name; };
    const auto size = std::find_if(group.begin(), group.end(), is);
    tile.values.push_back(size == group.end() ? 1 : size->second);
  }
  return moved_home(place(placer_of(layout), tile).placed).get();
}

std::optional<OptimumAnswer::Integer> least_transfer(const Layout& layout) {
  return layout.workspace->least_transfer({layout.problem.sizes, layout.problem.mask, layout.problem.dtype},
                                          [&] { return find(layout); });
}

}  // namespace napkin
