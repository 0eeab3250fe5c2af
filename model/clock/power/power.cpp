#include "model/clock/power/power.hpp"

#include <algorithm>
#include <cmath>

#include "model/clock/graph/copy_cost.hpp"
#include "model/clock/graph/needs.hpp"
#include "model/clock/roofline/assumed_clock.hpp"
#include "model/clock/roofline/load.hpp"
#include "model/machine/calibrate/fit.hpp"
#include "model/resource/reuse.hpp"

namespace napkin::internal {
namespace {

constexpr double reference_clock = energy_clock;
constexpr double tolerance = 1e-12;  // of the power, at its limit
constexpr int most_steps = 60;

}  // namespace

double EnergyRates::of_flop(const TensorInstruction& tensor) const {
  if (bits(tensor.type) == 8) return flop_8bit;
  return !tensor.asynchronous && flop_synchronous > 0 ? flop_synchronous : flop_16bit;
}

EnergyRates energy_rates(const PlacedDiagram& placed) {
  EnergyRates out = energy_rates(*placed.machine);
  out.known = power_needs_known(placed);
  return out;
}

EnergyRates energy_rates(const Machine& machine) {
  EnergyRates out;
  out.flop_16bit = machine.constant_or("energy_tensor_16bit", 0);
  out.flop_8bit = machine.constant_or("energy_tensor_8bit", 0);
  out.flop_synchronous = machine.constant_or("energy_tensor_synchronous", 0);
  out.shared = machine.constant_or("energy_shared", 0);
  out.instruction = machine.constant_or("energy_instruction", 0);
  const double l2 = machine.constant_or("energy_l2", 0);
  const Number *together = machine.find_constant("energy_l2_together"),
               *multicast = machine.find_constant("energy_multicast");
  out.l2 = together != nullptr && together->value > 0 ? together->value : l2;
  out.alone = std::max(l2 - out.l2, 0.0);
  out.multicast = multicast != nullptr && multicast->value > 0 ? multicast->value : l2;
  out.device = machine.constant_or("energy_device", 0);
  const double card = energy_of_card(machine);
  for (double* rate : {&out.flop_16bit, &out.flop_8bit, &out.flop_synchronous, &out.shared, &out.instruction, &out.l2,
                       &out.alone, &out.multicast, &out.device})
    *rate *= card;
  return out;
}

double energy_of_card(const Machine& machine) { return machine.constant_or("energy_of_card", 1); }

BlockEnergy block_energy(const PlacedDiagram& placed, const EventGraph& graph, const EnergyRates& rates) {
  BlockEnergy out;
  for (const PlacedOperation& op : placed.operations) {
    if (!op.tensor || op.instruction == nullptr || op.phase != Phase::loop) continue;
    const TensorLoad load = tensor_load(placed, op);
    out.iteration += load.flops * rates.of_flop(*op.instruction);
    if (!op.instruction->asynchronous) out.iteration += load.port_bytes * rates.shared;
  }
  const Unit* issue = placed.machine->unit(UnitRole::issue);
  const double slots = issue != nullptr ? issue->per_clock.best().value : 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const EventNode& node = graph.nodes[n];
    const double each = slots * graph.instances[n] * rates.instruction;
    (node.phase == Phase::loop ? out.iteration : out.once) += node.demand[issue_pipe] * each;
    out.cut += node.cut_demand_of(issue_pipe) * each;
  }
  const L2Bytes streamed = l2_bytes(placed, Phase::loop);
  out.iteration += rates.of_l2(streamed, 0);
  out.alone = streamed.asked * rates.alone;
  out.once += rates.of_l2(l2_bytes(placed, Phase::head));
  return out;
}

std::optional<Energy> energy_of(const PlacedDiagram& placed, const EventGraph& graph) {
  return energy_of(placed, graph, launch_shape(placed));
}

std::optional<Energy> energy_of(const PlacedDiagram& placed, const EventGraph& graph, const LaunchShape& shape) {
  const EnergyRates rates = energy_rates(placed);
  if (!rates.known) return std::nullopt;
  return energy_of(placed, block_energy(placed, graph, rates), rates, shape, device_bytes_in_order(placed));
}

Energy energy_of(const PlacedDiagram& placed, const BlockEnergy& block, const EnergyRates& rates,
                 const LaunchShape& shape, double device_bytes) {
  return {shape.alone.by_order ? block.of(shape, unshared_fraction(placed)) : block.of(shape),
          device_bytes * rates.device};
}

L2Bytes l2_bytes(const PlacedDiagram& placed, Phase phase) {
  L2Bytes bytes;
  const double sharers = static_cast<double>(std::max(placed.cluster, Count(1)).get());
  for (const Crossing& c : placed.crossings) {
    if (c.into != placed.block().level || (c.phase == Phase::loop) != (phase == Phase::loop)) continue;
    const double read = bytes_read(placed, c) * (c.store ? 1 : granules_of(placed, c));
    if (sharers > 1 && placed.multicast(c))
      bytes.multicast += read * sharers;
    else
      bytes.asked += read;
  }
  return bytes;
}

double device_bytes(const PlacedDiagram& placed) {
  const double bytes = compulsory_bytes(placed);
  return bytes > placed.machine->constant_or("l2_working_set", 0) ? bytes : 0;
}

double device_bytes_in_order(const PlacedDiagram& placed) {
  const double once = device_bytes(placed);
  return once > 0 ? once + reread_by_waves(placed) : 0;
}

Hertz highest_clock(const Machine& machine) {
  if (const double beside = machine.constant_or("clock_beside_tensor", 0); beside > 0) return Hertz(beside);
  return Hertz(machine.clocks.maximum ? machine.clocks.maximum->value : reference_clock);
}

PowerLaw power_law(const Machine& machine) {
  PowerLaw out;
  out.idle = machine.power.idle ? machine.power.idle->value : 0;
  out.tree = energy_of_card(machine) * machine.constant_or("clock_tree", 0);
  out.limit = machine.power.limit ? machine.power.limit->value : 0;
  out.highest = highest_clock(machine).value;
  out.gap = launch_overhead(machine).value * out.highest;
  out.exponent = machine.constant_or("energy_exponent", 0);
  return out;
}

HeldClock held_clock(const Machine& machine, const Energy& energy, double cycles) {
  return held_clock(power_law(machine), energy, cycles);
}

namespace {

/// The power of a sequence of launches, in watts, by the clock over f0.
struct PowerAt {
  double idle, steep, flat, exponent;

  PowerAt(const PowerLaw& law, const Energy& energy, double cycles) : idle(law.idle), exponent(law.exponent) {
    const double a_second = reference_clock / std::max(cycles + law.gap, 1.0);  // launches, at f0
    steep = law.tree + energy.core * a_second;
    flat = energy.device * a_second;
  }
  /// Returns the power at a ratio of clocks; `raised` is ratio^n.
  [[nodiscard]] double of(double ratio, double raised) const { return idle + (steep * raised + flat) * ratio; }
  [[nodiscard]] double rises(double raised) const { return steep * (1 + exponent) * raised + flat; }
};

/// Returns an upper bound of the ratio: power is convex in the clock, so the tangent at f0 meets the limit at or above
/// the power's own ratio.
double ratio_at_most(const PowerLaw& law, const PowerAt& power) {
  const double highest = law.highest / reference_clock, rises = power.rises(1);
  if (law.limit <= 0 || rises <= 0) return highest;
  return std::min(highest, std::max(1 + (law.limit - law.idle - power.steep - power.flat) / rises, 0.0));
}

}  // namespace

Hertz clock_at_most(const PowerLaw& law, const Energy& energy, double cycles) {
  return Hertz(ratio_at_most(law, {law, energy, cycles}) * reference_clock);
}

HeldClock held_clock(const PowerLaw& law, const Energy& energy, double cycles) {
  const PowerAt of_ratio(law, energy, cycles);
  double ratio = ratio_at_most(law, of_ratio), raised = 0, power = 0;
  const auto look = [&] {
    raised = std::pow(ratio, law.exponent);
    power = of_ratio.of(ratio, raised);
  };
  look();
  // Newton's method from above stays there.
  for (int i = 0; i < most_steps && law.limit > 0 && power - law.limit > tolerance * law.limit; ++i) {
    ratio -= (power - law.limit) / of_ratio.rises(raised);
    look();
  }
  return {Hertz(ratio * reference_clock), Watts(power)};
}

HeldClock held_clock(const PowerLaw& law, const Energy& energy, double cycles, Seconds least) {
  HeldClock held = held_clock(law, energy, cycles);
  // Cycles that take that time at the clock found last: a higher clock each time, by ever less.
  for (int i = 0; i < most_steps && held.clock.value * least.value > cycles * (1 + tolerance); ++i) {
    cycles = held.clock.value * least.value;
    held = held_clock(law, energy, cycles);
  }
  return held;
}

bool may_end_within(const PowerLaw& law, const Energy& energy, double cycles, Seconds time) {
  const double ratio = cycles / (reference_clock * time.value);
  if (ratio > law.highest / reference_clock) return false;
  return law.limit <= 0 || PowerAt(law, energy, cycles).of(ratio, std::pow(ratio, law.exponent)) <= law.limit;
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
  out.time = Seconds((out.cycles + meeting_of_cluster(placed)) / out.clock.value) + launch_overhead(*placed.machine);
  return out;
}

}  // namespace napkin::internal
