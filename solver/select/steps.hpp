#pragma once
// The knobs one after the other, each with the rules that are decided when it is set: what a depth-first walk over
// tiles checks, and when.

#include <vector>

#include "solver/space/constraints.hpp"
#include "solver/space/enumerate.hpp"

namespace napkin {

struct Step {
  KnobId knob = 0;
  std::vector<const TileRule*> tile_rules;
  std::vector<std::size_t> plan_rules;  ///< indices into Rules::plan

  [[nodiscard]] bool tile_rules_hold(const Tile& tile) const;
};

/// One step a knob of `order`, those of `known` being set before. Rules that no knob of `order` decides are in none.
[[nodiscard]] std::vector<Step> steps_of(const Rules& rules, KnobSet known, const std::vector<KnobId>& order);

/// The knobs of a set in their order.
[[nodiscard]] std::vector<KnobId> knobs_in(KnobSet set, const Space& space);

/// Whether every rule that the question alone decides holds.
[[nodiscard]] bool question_is_legal(const Rules& rules);

}  // namespace napkin
