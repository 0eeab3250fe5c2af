#include "model/clock/roofline/node_rate.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace napkin::internal {

Count few_nodes(const Machine& machine, Count blocks) {
  if (blocks >= machine.compute_nodes()) return 0;
  const double total = machine.constant_or("l2_bandwidth_total", 0);
  if (total <= 0) return 0;
  const double one = machine.constant_or("l2_bandwidth_one_sm", 0);
  const Count least = one > 0 ? Count(static_cast<std::int64_t>(total / one)) : Count(1);
  return std::max({blocks, least, Count(1)});
}

Count nodes_at_work(const Machine& machine, Count blocks) {
  const Count all = std::max(machine.compute_nodes(), Count(1)), few = few_nodes(machine, blocks);
  if (few > Count(0)) return few;
  if (blocks >= all) return all;
  const auto some = static_cast<std::uint64_t>(std::max(blocks, Count(1)).get());
  return Count(static_cast<std::int64_t>(some - some % std::max<std::uint64_t>(std::bit_floor(some) / 4, 1)));
}

double node_rate(const PlacedDiagram& placed, Count blocks) {
  const Machine& machine = *placed.machine;
  const Pipe* pipe = machine.pipe_into(placed.block().level);
  if (pipe == nullptr || !pipe->per_node_clock.known()) return INFINITY;
  const double each = pipe->per_node_clock.best().value, one = machine.constant_or("l2_bandwidth_one_sm", 0);
  const Count few = few_nodes(machine, blocks);
  const double share = few > Count(0) ? machine.constant("l2_bandwidth_total") / real(few)
                                      : each * real(machine.compute_nodes()) / real(nodes_at_work(machine, blocks));
  return std::max(std::min(share, one), each);
}

}  // namespace napkin::internal
