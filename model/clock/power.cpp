#include "model/clock/power.hpp"

#include <algorithm>
#include <cmath>

#include "model/clock/load.hpp"
#include "model/clock/prediction.hpp"

namespace napkin {
namespace {

constexpr double reference_clock = 1.5e9, exponent = 1.2;
constexpr std::size_t issue_pipe = 1;

double stated(const std::map<std::string, Number, std::less<>>& numbers, std::string_view name) {
  const auto found = numbers.find(name);
  return found == numbers.end() ? 0 : found->second.value;
}

/// FLOP and warp instructions of one block's one iteration.
struct IterationWork {
  double flop_16bit = 0, flop_8bit = 0, instructions = 0;
};

IterationWork work_of(const PlacedDiagram& placed, const EventGraph& graph) {
  IterationWork out;
  for (const PlacedOperation& op : placed.operations) {
    if (!op.tensor || op.instruction == nullptr || op.phase != Phase::loop) continue;
    const double flop = tensor_clocks(placed, op) * op.instruction->flop_per_clock;
    (bits(op.instruction->type) == 8 ? out.flop_8bit : out.flop_16bit) += flop;
  }
  const Unit* issue = placed.machine->unit("issue");
  const double rate = issue != nullptr && issue->per_clock.known() ? issue->per_clock.best().value : 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].phase == Phase::loop)
      out.instructions += graph.nodes[n].demand[issue_pipe] * rate * graph.instances[n];
  }
  return out;
}

}  // namespace

std::optional<Energy> energy_of(const PlacedDiagram& placed, const EventGraph& graph) {
  const auto& fitted = placed.machine->fitted;
  if (stated(fitted, "energy_tensor_16bit") <= 0) return std::nullopt;
  const IterationWork work = work_of(placed, graph);
  const double iterations = schedule(placed).total_iterations;
  const double one = work.flop_16bit * stated(fitted, "energy_tensor_16bit") +
                     work.flop_8bit * stated(fitted, "energy_tensor_8bit") +
                     work.instructions * stated(fitted, "energy_instruction");
  return Energy{one * iterations, compulsory_bytes(placed) * stated(fitted, "energy_device")};
}

HeldClock held_clock(const Machine& machine, const Energy& energy, double cycles) {
  const double idle = machine.power.idle ? machine.power.idle->value : 0;
  const double tree = stated(machine.constants, "clock_tree");
  const auto power = [&](double clock) {
    const double ratio = clock / reference_clock, scale = std::pow(ratio, exponent);
    return idle + tree * scale * ratio + (energy.core * scale + energy.device) * clock / std::max(cycles, 1.0);
  };
  const double most = machine.clocks.maximum ? machine.clocks.maximum->value : reference_clock;
  if (!machine.power.limit || power(most) <= machine.power.limit->value) return {Hertz(most), Watts(power(most))};
  double low = 0, high = most;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (power(middle) <= machine.power.limit->value ? low : high) = middle;
  }
  return {Hertz(low), Watts(power(low))};
}

GraphPrediction predict_by_graph(const PlacedDiagram& placed, const EventGraph& graph, const Period& period) {
  GraphPrediction out;
  out.cycles = launch_clocks(placed, graph, period).busiest;
  out.clock = assumed_clock(*placed.machine).frequency;
  if (const auto energy = energy_of(placed, graph)) {
    const HeldClock held = held_clock(*placed.machine, *energy, out.cycles);
    out.clock = held.clock;
    out.power = held.power;
  }
  out.time = Seconds(out.cycles / out.clock.value + stated(placed.machine->constants, "launch_overhead"));
  return out;
}

}  // namespace napkin
