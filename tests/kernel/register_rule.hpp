#pragma once
// for_each_ruled visits a kernel's tiles that its register rule accepts or nearly accepts: run_compile compiles them,
// and tests/measured/registers records the results.

#include <algorithm>
#include <functional>
#include <string>

#include "apps/library/judge/replay.hpp"
#include "apps/library/judge/sweep.hpp"
#include "solver/space/constraints.hpp"
#include "solver/space/enumerate.hpp"

namespace napkin::internal::test {

struct RuledTile {
  const Tile& tile;
  const PlacedDiagram& placed;
  const Plan& plan;
  bool legal;  ///< true for a legal tile; false if only the register rule rejects it
};

/// Visits every tile that `select` searches for this question and that is legal, or that the register rule alone
/// rejects, by at most `near` registers.
inline void for_each_ruled(const Measurable& m, std::int64_t near, const std::function<void(const RuledTile&)>& visit) {
  const Setup& setup = *m.setup;
  const Space space = space_of(setup);
  const Rules rules(*setup.streamed, *setup.mapping, *setup.machine, setup.problem);
  Tile tile;
  for (std::int64_t rank = 0; rank < space.candidates.get(); ++rank) {
    space.tile(rank, tile);
    if (std::any_of(rules.tile.begin(), rules.tile.end(),
                    [&](const TileRule& rule) { return rule.check(tile).has_value(); }))
      continue;
    const PlacedDiagram placed = m.placer->place(tile);
    const Plan planned = plan(placed);
    const auto broken = violations(rules, placed, planned);
    const Count excess = planned.registers_per_thread - planned.registers_limit;
    const bool only_registers = broken.size() == 1 && broken.front().constraint == "registers" && excess <= Count(near);
    if (broken.empty() || only_registers) visit({tile, placed, planned, broken.empty()});
  }
}

}  // namespace napkin::internal::test
