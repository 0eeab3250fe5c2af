#pragma once
// A need is a number that a clock reads of a machine to time a tile: "constants.tma_box" for a kernel whose threads ask
// for boxes. A number that the machine lacks is never passed over in silence: the event graph gives way to a bound, or
// the prediction names what it had to leave out.

#include <string>
#include <vector>

#include "model/mapping/placed.hpp"

namespace napkin::internal {

/// The treatment of a missing number.
enum class Without {
  no_graph,  ///< no event graph: the roofline gives a bound
  no_power,  ///< no power, and an assumed clock
  less       ///< no effect, or a coarser number, as needs.cpp lists it
};

struct Need {
  std::string name;  ///< name, as in numbers_of(): "constants.tma_box", "pipes.l2.latency"
  bool known = false;
  Without without = Without::less;
};

/// Lists every number that the tile's time may depend on, except those that each profile has.
[[nodiscard]] std::vector<Need> needs_of(const PlacedDiagram& placed);

/// Returns true if the machine has every number that the event graph needs.
[[nodiscard]] bool graph_needs_known(const PlacedDiagram& placed);

/// Returns true if all energies of the tile's work are known, so that power and clock follow.
[[nodiscard]] bool power_needs_known(const PlacedDiagram& placed);

}  // namespace napkin::internal
