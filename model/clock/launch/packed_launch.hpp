#pragma once
// packed_launch_clocks simulates the launch of a packed batch: blocks of sequences of 512, 4096 and 1 rows take
// different times, and each goes to the node that the kernel's order gives it. Internal to launch/.

#include "model/clock/launch/launch.hpp"

namespace napkin::internal {

[[nodiscard]] LaunchClocks packed_launch_clocks(const PlacedDiagram& placed, const EventGraph& graph,
                                                const Period& period, const LaunchShape& shape);

}  // namespace napkin::internal
