#pragma once
// next_larger finds the consequences of a knob's next larger size, with all other knobs free: the knobs that must
// change with it, and the rule that stops it. Internal to explain/.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "solver/select/selector.hpp"

namespace napkin::internal {

/// The next larger value of a knob that rules on knobs allow for some values of the other knobs.
struct Larger {
  KnobId knob = 0;
  std::int64_t value = 0;
  std::vector<std::pair<KnobId, std::int64_t>>
      implied;        ///< values that all tiles with it have, and the given tile has not
  bool fits = false;  ///< true if any such tile is legal
  std::string rule;   ///< most exceeded rule of the tile closest to legal, if none is legal
  Excess excess;
};
[[nodiscard]] std::optional<Larger> next_larger(const Selector& selector, const Tile& tile, KnobId knob);

}  // namespace napkin::internal
