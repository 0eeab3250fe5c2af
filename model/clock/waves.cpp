#include "model/clock/waves.hpp"

#include <algorithm>

#include "model/clock/load.hpp"

namespace napkin {

LaunchClocks launch_clocks(const PlacedDiagram& placed, const EventGraph& graph, const Period& period) {
  const Schedule who = schedule(placed);
  // Blocks shorter than the steady state differ from `once + iterations x period`; the mean block stands for them.
  const double blocks = std::max(who.total_blocks, 1.0), each = who.total_iterations / blocks;
  const double one = block_clocks(graph, period, each), once = one - each * period.clocks;
  return {who.blocks * once + who.iterations * period.clocks, blocks * one / who.nodes};
}

}  // namespace napkin
