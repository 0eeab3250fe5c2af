#include "model/clock/power.hpp"

#include <algorithm>
#include <cmath>

#include "model/clock/load.hpp"
#include "model/clock/prediction.hpp"

namespace napkin {
namespace {

constexpr double reference_clock = 1.5e9, exponent = 1.2;
constexpr std::size_t issue_pipe = 1;
constexpr double tolerance = 1e-12;  // of the power, at its limit
constexpr int most_steps = 60;

}  // namespace

double EnergyRates::of_tensor(const TensorInstruction& tensor) const {
  return tensor.flop_per_clock * (bits(tensor.type) == 8 ? flop_8bit : flop_16bit);
}

EnergyRates energy_rates(const Machine& machine) {
  EnergyRates out;
  out.flop_16bit = machine.constant("energy_tensor_16bit");
  out.flop_8bit = machine.constant("energy_tensor_8bit");
  out.instruction = machine.constant("energy_instruction");
  out.device = machine.constant("energy_device");
  out.known = out.flop_16bit > 0;
  return out;
}

std::optional<Energy> energy_of(const PlacedDiagram& placed, const EventGraph& graph) {
  const EnergyRates rates = energy_rates(*placed.machine);
  if (!rates.known) return std::nullopt;
  double one = 0;  // block's one iteration
  for (const PlacedOperation& op : placed.operations) {
    if (op.tensor && op.instruction != nullptr && op.phase == Phase::loop)
      one += tensor_clocks(placed, op) * rates.of_tensor(*op.instruction);
  }
  const Unit* issue = placed.machine->unit("issue");
  const double slots = issue != nullptr && issue->per_clock.known() ? issue->per_clock.best().value : 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].phase == Phase::loop)
      one += graph.nodes[n].demand[issue_pipe] * slots * graph.instances[n] * rates.instruction;
  }
  return Energy{one * schedule(placed).total_iterations, device_bytes(placed) * rates.device};
}

double device_bytes(const PlacedDiagram& placed) {
  const double bytes = compulsory_bytes(placed);
  return bytes > placed.machine->constant("l2_working_set") ? bytes : 0;
}

HeldClock held_clock(const Machine& machine, const Energy& energy, double cycles) {
  const double idle = machine.power.idle ? machine.power.idle->value : 0;
  const double tree = machine.constant("clock_tree");
  const double highest = machine.clocks.maximum ? machine.clocks.maximum->value : reference_clock;
  const double gap = launch_overhead(machine).value * highest;
  const double a_second = reference_clock / std::max(cycles + gap, 1.0);  // launches, at f0
  const double steep = tree + energy.core * a_second, flat = energy.device * a_second;
  const auto power = [&](double ratio) { return idle + steep * std::pow(ratio, 1 + exponent) + flat * ratio; };
  const double most = highest / reference_clock;
  double ratio = most, above = machine.power.limit ? power(most) - machine.power.limit->value : 0;
  // Newton's method from above: the power is convex in the clock, so it stays there.
  for (int i = 0; i < most_steps && above > tolerance * machine.power.limit->value; ++i) {
    ratio -= above / (steep * (1 + exponent) * std::pow(ratio, exponent) + flat);
    above = power(ratio) - machine.power.limit->value;
  }
  return {Hertz(ratio * reference_clock), Watts(power(ratio))};
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
  out.time = Seconds(out.cycles / out.clock.value) + launch_overhead(*placed.machine);
  return out;
}

}  // namespace napkin
