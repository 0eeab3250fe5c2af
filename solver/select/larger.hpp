#pragma once
// What stands in the way of a larger size, with all other knobs free: what it brings with it, and what does not fit.

#include <optional>
#include <string>
#include <vector>

#include "solver/select/steps.hpp"

namespace napkin {

/// One value of one knob, whatever the others have.
struct Larger {
  KnobId knob = 0;
  std::int64_t value = 0;
  std::vector<std::pair<KnobId, std::int64_t>> implied;  ///< values that all its tiles have, and the given one has not
  bool fits = false;                                     ///< some tile is legal
  std::string rule;  ///< where none is: what the tile that comes the closest to legal violates the most
  Excess excess;
};

/// The next larger value of that knob for which the rules of the knobs' values leave any tile. Nothing where there is
/// none. `placer` is one of the question's.
[[nodiscard]] std::optional<Larger> next_larger(const Space& space, const Rules& rules, const Placer& placer,
                                                const Tile& tile, KnobId knob);

}  // namespace napkin
