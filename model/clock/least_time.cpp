// What no mapping of an algorithm goes below on a machine: its contractions at the fastest instruction's rate, and its
// inputs and outputs once over the pipe of device memory, whatever the tile.
#include <algorithm>

#include "model/clock/prediction.hpp"
#include "model/clock/roofline/assumed_clock.hpp"
#include "model/clock/roofline/load.hpp"
#include "model/clock/time_model.hpp"

namespace napkin::internal {
namespace {

Hertz highest_stated(const Clocks& clocks) {
  double highest = 0;
  for (const auto& clock : {clocks.maximum, clocks.tensor, clocks.base}) {
    if (clock) highest = std::max(highest, clock->value);
  }
  return Hertz(highest);
}

/// Returns the FLOP a clock of the whole machine; 0: not known.
double most_flops_a_clock(const Machine& machine, DType type) {
  double most = 0;
  for (const TensorInstruction& i : machine.tensor) {
    if (i.type != type) continue;
    double node = i.flop_per_clock;
    for (const InstructionTiming& row : i.timing) {
      const double flops = 2 * real(i.m) * real(row.n) * real(i.k);
      for (const double clocks : {row.clocks_shared, row.clocks_registers})
        node = clocks > 0 ? std::max(node, flops / clocks) : node;
    }
    most = std::max(most, node * real(machine.nodes(i.level)));
  }
  const Unit* unit = machine.unit(UnitRole::multiply_add);
  if (most > 0 || unit == nullptr) return most;
  const double a_result = unit->counts == Counted::flop ? 1 : 2;
  return a_result * unit->per_clock.best().value * real(machine.nodes(unit->level));
}

}  // namespace

std::optional<Prediction> least_time(const PlacedDiagram& placed) {
  const Machine& machine = *placed.machine;
  Prediction out;
  out.clock = highest_stated(machine.clocks);
  out.clock_source = "highest clock";
  if (out.clock.value <= 0) return std::nullopt;
  const double flops = real(work(placed).flops.value);
  const double rate = most_flops_a_clock(machine, placed.problem->dtype) * out.clock.value;
  const SharedPipe device = device_pipe(placed, out.clock);
  const double products = rate > 0 ? flops / rate : 0, moved = device.seconds(compulsory_bytes(placed));
  const double seconds = std::max(products, moved);
  if (seconds <= 0) return std::nullopt;  // nothing is known that it would take
  out.cycles = Seconds(seconds) * out.clock;
  out.time = Seconds(seconds) + launch_overhead(machine);
  out.tflops = flops / out.time.value / 1e12;
  out.bound = products > moved ? "tensor" : std::string(device.name());
  if (products > 0) out.pipes.push_back({"tensor", products / seconds});
  if (moved > 0) out.pipes.push_back({std::string(device.name()), moved / seconds});
  out.nodes = out.busy_nodes = machine.compute_nodes();
  return out;
}

}  // namespace napkin::internal
