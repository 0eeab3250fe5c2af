#pragma once
// other_launches times the launches of a call beside the one that computes: before attention's backward pass a launch
// multiplies rows of dO and O and clears dQ, after it a launch converts dQ. Each streams whole arrays, and no launch
// overlaps with another. (mapping.hpp, Launch)

#include <string>
#include <vector>

#include "model/base/quantity.hpp"
#include "model/mapping/placed.hpp"

namespace napkin::internal {

struct OtherLaunch {
  std::string name;
  Bytes read, written;
  Seconds time;  ///< time of a launch: its bytes over device memory's pipe, or over the L2's if all of them stay there
};

/// Lists the launches beside the main one, in the mapping's order; `clock` converts rates a clock.
[[nodiscard]] std::vector<OtherLaunch> other_launches(const PlacedDiagram& placed, Hertz clock);

/// Returns the time of all other launches.
[[nodiscard]] Seconds time_of_other_launches(const PlacedDiagram& placed, Hertz clock);

}  // namespace napkin::internal
