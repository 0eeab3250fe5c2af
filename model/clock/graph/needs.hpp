#pragma once
// A need is a number that a clock reads of a machine to time a tile: "constants.tma_box" for a kernel whose threads ask
// for boxes. A number that the machine lacks is never passed over in silence: the event graph gives way to a bound, or
// the prediction names what it had to leave out.

#include <string>
#include <vector>

#include "model/mapping/placed.hpp"

namespace napkin {

/// What a clock does where the number is missing.
enum class Without {
  no_graph,  ///< there is no event graph: the roofline bounds
  no_power,  ///< the power is not known, and the clock is assumed
  less       ///< the effect is left out, or a coarser number stands for it, as needs.cpp says beside each
};

struct Need {
  std::string name;  ///< as in numbers_of(): "constants.tma_box", "pipes.l2.latency"
  bool known = false;
  Without without = Without::less;
};

/// Every number that the time of the tile may rest on beyond those that no profile can leave out.
[[nodiscard]] std::vector<Need> needs_of(const PlacedDiagram& placed);

/// Whether all that the event graph needs is known.
[[nodiscard]] bool graph_needs_known(const PlacedDiagram& placed);

/// Whether all energies of the tile's work are known, so that the power and the clock follow.
[[nodiscard]] bool power_needs_known(const PlacedDiagram& placed);

}  // namespace napkin
