#pragma once
// packed_launch_clocks acts the launch of a packed batch out: sequences of 512, 4096 and 1 rows have blocks of their
// own lengths, and each goes to the node that the kernel's order gives it. Internal to launch/.

#include "model/clock/launch/launch.hpp"

namespace napkin {

[[nodiscard]] LaunchClocks packed_launch_clocks(const PlacedDiagram& placed, const EventGraph& graph,
                                                const Period& period, const LaunchShape& shape);

}  // namespace napkin
