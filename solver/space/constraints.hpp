#pragma once
// What makes a tile legal. A rejection is data: the rule, what it needs, what there is.

#include <string>
#include <vector>

#include "model/mapping/placed.hpp"
#include "model/resource/resources.hpp"

namespace napkin {

struct Violation {
  std::string constraint;  ///< "shared memory", "registers", "threads", "granularity of x", "rows", "cluster", ...
  double needed = 0;
  double available = 0;
};

/// Every violated constraint of a placed tile, in a fixed order; empty: legal. Named, never a bool.
[[nodiscard]] std::vector<Violation> violations(const PlacedDiagram& placed, const Plan& plan);

}  // namespace napkin
