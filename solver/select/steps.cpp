#include "solver/select/steps.hpp"

#include <algorithm>

namespace napkin {

bool Step::tile_rules_hold(const Tile& tile) const {
  return std::none_of(tile_rules.begin(), tile_rules.end(),
                      [&](const TileRule* rule) { return rule->check(tile).has_value(); });
}

std::vector<Step> steps_of(const Rules& rules, KnobSet known, const std::vector<KnobId>& order) {
  std::vector<Step> out;
  out.reserve(order.size());
  for (const KnobId knob : order) {
    const KnobSet before = known;
    known |= knob_bit(knob);
    const auto decided = [&](KnobSet knobs) { return (knobs & ~known) == 0 && (knobs & ~before) != 0; };
    Step step{knob, {}, {}};
    for (const TileRule& rule : rules.tile) {
      if (decided(rule.knobs)) step.tile_rules.push_back(&rule);
    }
    for (std::size_t r = 0; r < rules.plan.size(); ++r) {
      if (decided(rules.plan[r].knobs)) step.plan_rules.push_back(r);
    }
    out.push_back(std::move(step));
  }
  return out;
}

std::vector<KnobId> knobs_in(KnobSet set, const Space& space) {
  std::vector<KnobId> out;
  for (KnobId k = 0; k < static_cast<KnobId>(space.domains.size()); ++k) {
    if ((set & knob_bit(k)) != 0) out.push_back(k);
  }
  return out;
}

bool question_is_legal(const Rules& rules) {
  const Tile none;
  return std::all_of(rules.tile.begin(), rules.tile.end(),
                     [&](const TileRule& rule) { return rule.knobs != 0 || !rule.check(none); });
}

}  // namespace napkin
