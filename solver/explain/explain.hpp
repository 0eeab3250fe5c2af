#pragma once
// explain writes the reasons why a tile is the best: "tensor binds: an iteration takes 2048 clk ...; x=144 does not
// fit: registers (needed 250, available 240); the runner-up (stages=3) is 0.2 % slower: it loses on waits and the ends
// of its blocks".

#include <string>
#include <vector>

#include "solver/select/select.hpp"

namespace napkin::internal {

class Selector;

/// The reasons why a tile is the best.
struct Explanation {
  /// sentence in the profile's names: the limit, the obstacles to larger sizes, the cause of the runner-up's longer
  /// time
  std::string sentence;
  /// Clauses of `sentence` in the machine's words, without an iteration's clocks, which the prediction has.
  std::vector<std::string> reasons;
};

/// Explains why the first tile is best: the limit, the obstacles to the next larger sizes with all other knobs free,
/// the cause of the runner-up's longer time. Empty if nothing is ranked.
[[nodiscard]] Explanation explain(Selector& selector, const Selection& selection);

}  // namespace napkin::internal
