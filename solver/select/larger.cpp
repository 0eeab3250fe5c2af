#include "solver/select/larger.hpp"

#include <algorithm>
#include <limits>

#include "model/resource/resources.hpp"

namespace napkin {
namespace {

/// Depth-first over the tiles of one value: first the knobs that the plan depends on, then, for each that the rules of
/// the knobs' values allow, any one completion.
class Trial {
 public:
  Trial(const Space& space, const Rules& rules, const Placer& placer, KnobId knob, std::int64_t value)
      : rules_(rules), placer_(placer), domains_(space.domains), tile_(space.tile(0)) {
    domains_[at(knob)] = {value};
    KnobSet planned = knob_bit(knob);
    for (const PlanRule& rule : rules.plan) planned |= rule.knobs;
    std::vector<KnobId> order = knobs_in(planned, space);
    planned_ = order.size();
    for (const KnobId other : knobs_in(~planned, space)) order.push_back(other);
    steps_ = steps_of(rules, 0, order);
    seen_.resize(domains_.size());
    visit(0);
  }

  [[nodiscard]] bool any() const { return any_; }
  [[nodiscard]] bool fits() const { return fits_; }
  [[nodiscard]] const PlanRule& rule() const { return *worst_; }
  [[nodiscard]] Excess excess() const { return excess_; }
  /// The value that a knob has in all tiles; nothing where it has several, or was not looked at.
  [[nodiscard]] std::optional<std::int64_t> only(KnobId knob) const {
    return seen_[at(knob)].size() == 1 ? std::optional(seen_[at(knob)].front()) : std::nullopt;
  }

 private:
  void visit(std::size_t depth) {
    if (depth == planned_) {
      if (completes(depth)) judge();
      return;
    }
    const KnobId knob = steps_[depth].knob;
    for (const std::int64_t value : domains_[at(knob)]) {
      tile_.values[at(knob)] = value;
      if (!fits_ && steps_[depth].tile_rules_hold(tile_)) visit(depth + 1);
    }
  }

  bool completes(std::size_t depth) {
    if (depth == steps_.size()) return true;
    const KnobId knob = steps_[depth].knob;
    return std::any_of(domains_[at(knob)].begin(), domains_[at(knob)].end(), [&](std::int64_t value) {
      tile_.values[at(knob)] = value;
      return steps_[depth].tile_rules_hold(tile_) && completes(depth + 1);
    });
  }

  /// Fewer violated rules are closer to legal, then the smaller part by which the worst is exceeded.
  void judge() {
    any_ = true;
    for (std::size_t i = 0; i < planned_; ++i) {
      std::vector<std::int64_t>& seen = seen_[at(steps_[i].knob)];
      const std::int64_t value = tile_.values[at(steps_[i].knob)];
      if (std::find(seen.begin(), seen.end(), value) == seen.end()) seen.push_back(value);
    }
    placer_.place(tile_, placed_);
    const Plan needs = plan(placed_);
    std::size_t count = 0;
    double part = 0;
    const PlanRule* worst = nullptr;
    Excess excess;
    for (const PlanRule& rule : rules_.plan) {
      const auto one = rule.check(placed_, needs);
      if (!one) continue;
      ++count;
      const double exceeded = one->needed / std::max(one->available, 1.0);
      if (exceeded <= part) continue;
      part = exceeded;
      worst = &rule;
      excess = *one;
    }
    fits_ = count == 0;
    if (std::pair(count, part) >= std::pair(violated_, part_)) return;
    violated_ = count;
    part_ = part;
    worst_ = worst;
    excess_ = excess;
  }

  const Rules& rules_;
  const Placer& placer_;
  std::vector<std::vector<std::int64_t>> domains_;
  Tile tile_;
  PlacedDiagram placed_;
  std::vector<Step> steps_;
  std::size_t planned_ = 0;                      // steps that the plan depends on
  std::vector<std::vector<std::int64_t>> seen_;  // by knob
  bool any_ = false, fits_ = false;
  // Of the tile that comes the closest:
  std::size_t violated_ = std::numeric_limits<std::size_t>::max();
  double part_ = 0;
  const PlanRule* worst_ = nullptr;
  Excess excess_;
};

}  // namespace

std::optional<Larger> next_larger(const Space& space, const Rules& rules, const Placer& placer, const Tile& tile,
                                  KnobId knob) {
  std::vector<std::int64_t> values = space.domains[at(knob)];
  std::erase_if(values, [&](std::int64_t value) { return value <= tile.values[at(knob)]; });
  std::sort(values.begin(), values.end());
  for (const std::int64_t value : values) {
    const Trial trial(space, rules, placer, knob, value);
    if (!trial.any()) continue;
    Larger out{knob, value, {}, trial.fits(), {}, {}};
    for (KnobId k = 0; k < static_cast<KnobId>(space.domains.size()); ++k) {
      const auto only = trial.only(k);
      if (k != knob && only && *only != tile.values[at(k)]) out.implied.emplace_back(k, *only);
    }
    if (!out.fits) {
      out.rule = trial.rule().name;
      out.excess = trial.excess();
    }
    return out;
  }
  return std::nullopt;
}

}  // namespace napkin
