#include "apps/library/rank/least_transfer.hpp"

#include <algorithm>

#include "apps/library/rank/evaluate.hpp"
#include "apps/library/rank/select_kernel.hpp"
#include "model/mapping/placed.hpp"
#include "model/resource/resources.hpp"
#include "solver/space/constraints.hpp"
#include "solver/space/workspace.hpp"

namespace napkin::internal {
namespace {

/// A knob that sizes an axis at a block's level.
struct AxisKnob {
  KnobId knob = 0;
  std::string axis;
};

/// Returns the knobs that transfers depend on. The chunk of the stream is among them only if a mask leaves chunks out.
std::vector<AxisKnob> axis_knobs(const Setup& setup) {
  const bool masked = setup.problem.mask.kind != Mask::Kind::none;
  std::vector<AxisKnob> knobs;
  for (std::size_t i = 0; i < setup.mapping->knobs.size(); ++i) {
    const auto axis = setup.streamed->diagram.find_axis(setup.mapping->knobs[i].name);
    if (axis && (setup.streamed->grouped(*axis) || (masked && setup.streamed->stream == *axis)))
      knobs.push_back({static_cast<KnobId>(i), setup.mapping->knobs[i].name});
  }
  return knobs;
}

const std::vector<std::int64_t>& domain_of(const Setup& setup, const AxisKnob& knob) {
  return setup.mapping->knobs[static_cast<std::size_t>(knob.knob)].domain;
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
std::vector<Combination> combinations(const Setup& setup, const std::vector<AxisKnob>& knobs) {
  const Placer placer(*setup.streamed, *setup.mapping, *setup.machine, setup.problem);
  Tile tile;
  for (const Knob& knob : setup.mapping->knobs) tile.values.push_back(knob.domain.front());
  std::vector<Combination> all;
  std::vector<std::size_t> digits(knobs.size(), 0);
  PlacedDiagram placed;
  for (bool more = true; more;) {
    Combination combination;
    for (std::size_t i = 0; i < knobs.size(); ++i) {
      combination.values.push_back(domain_of(setup, knobs[i])[digits[i]]);
      tile.values[static_cast<std::size_t>(knobs[i].knob)] = combination.values.back();
    }
    placer.place(tile, placed);
    combination.transfer = moved_home(placed);
    all.push_back(std::move(combination));
    more = false;
    for (std::size_t i = 0; i < knobs.size() && !more; ++i) {
      more = ++digits[i] < domain_of(setup, knobs[i]).size();
      if (!more) digits[i] = 0;
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.transfer < b.transfer; });
  return all;
}

/// Tiles whose only knobs are the axes' knobs: each is judged by itself, without a table.
class WholeTiles {
 public:
  WholeTiles(const Setup& setup, const std::vector<AxisKnob>& knobs)
      : placer_(*setup.streamed, *setup.mapping, *setup.machine, setup.problem),
        rules_(*setup.streamed, *setup.mapping, *setup.machine, setup.problem),
        all_given_(knobs.size() == setup.mapping->knobs.size()) {}

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
std::optional<LeastTransfer> find(const Setup& setup) {
  const std::vector<AxisKnob> knobs = axis_knobs(setup);
  Setup tried = setup;
  const WholeTiles whole(setup, knobs);
  for (const Combination& combination : combinations(setup, knobs)) {
    tried.fixed.clear();
    for (std::size_t i = 0; i < knobs.size(); ++i) tried.fixed.emplace_back(knobs[i].knob, combination.values[i]);
    if (!(whole.all_given() ? whole.is_legal(tried.fixed) : fits(tried))) continue;
    LeastTransfer answer{combination.transfer.get(), {}};
    for (std::size_t i = 0; i < knobs.size(); ++i) answer.group.emplace_back(knobs[i].axis, combination.values[i]);
    return answer;
  }
  return std::nullopt;
}

}  // namespace

std::int64_t moved_by(const Setup& setup, const NamedSizes& group) {
  Tile tile;
  for (const Knob& knob : setup.mapping->knobs) {
    const auto is = [&](const auto& size) { return size.first == knob.name; };
    const auto size = std::find_if(group.begin(), group.end(), is);
    tile.values.push_back(size == group.end() ? 1 : size->second);
  }
  return moved_home(place(placer_of(setup), tile).placed).get();
}

std::optional<OptimumAnswer::Integer> least_transfer(const Setup& setup) {
  const auto found = setup.workspace->least_transfer(setup.problem, [&] { return find(setup); });
  if (!found) return std::nullopt;
  return OptimumAnswer::Integer{found->transfer, found->group};
}

}  // namespace napkin::internal
