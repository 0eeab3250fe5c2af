#include "model/clock/waves.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "model/clock/load.hpp"

namespace napkin {
namespace {

bool persists(const PlacedDiagram& placed) {
  const auto knob = placed.mapping->find_knob("order");
  if (!knob) return false;
  const std::vector<std::string>& words = placed.mapping->knobs[static_cast<std::size_t>(*knob)].words;
  const auto value = static_cast<std::size_t>(placed.tile.values[static_cast<std::size_t>(*knob)]);
  return value < words.size() && words[value] != "grid";
}

double handover(const Machine& machine) {
  const auto found = machine.constants.find(std::string_view("block_handover"));
  return found == machine.constants.end() ? 0 : found->second.value;
}

}  // namespace

LaunchClocks launch_clocks(const PlacedDiagram& placed, const EventGraph& graph, const Period& period) {
  const Schedule who = schedule(placed);
  const double total = std::max(who.total_blocks, 1.0), mean = who.total_iterations / total;
  const BlockClocks block = block_clocks(graph, period, mean);
  // The mean block stands for all; the busiest node's iterations beyond the mean's go on at the period.
  const double each = persists(placed) ? block.next : block.first + handover(*placed.machine);
  const double start = block.first - each;
  return {start + who.blocks * each + (who.iterations - who.blocks * mean) * period.clocks,
          start + total / who.nodes * each};
}

}  // namespace napkin
