#pragma once
// Why this tile: one sentence made of the prediction, the constraints and the runner-up. Knows no algorithm.

#include <optional>
#include <string>
#include <vector>

#include "solver/select/select.hpp"
#include "solver/space/constraints.hpp"
#include "solver/space/enumerate.hpp"

namespace napkin {

/// "tensor binds, busy 93 % of the time; x=192 would need more registers (254 of 240); next best q=192,... is 1.2 %
/// slower: ..." Empty where nothing is ranked.
[[nodiscard]] std::string explain(const Question& question, const Space& space, const Rules& rules,
                                  const Placer& placer, const Selection& selection);

/// Which constraint kept the most tiles out, with the first of them in order where several tie; "" where none did.
[[nodiscard]] std::string nearest_constraint(const std::vector<std::pair<std::string, Count>>& rejected);

/// Rules' names with their counts, zeros left out, equal names added up.
[[nodiscard]] std::vector<std::pair<std::string, Count>> named_counts(const Rules& rules,
                                                                      const std::vector<Count>& counts);

}  // namespace napkin
