// Predictions and timers: the time of a tile (clock/time_model) with its clock, what binds it and the share of each
// pipe.

#include <fmt/format.h>

#include <algorithm>

#include "model/clock/time_model.hpp"
#include "model/mapping/compiled.hpp"

namespace napkin {

bool has_event_graph(const PlacedDiagram& placed) {
  if (placed.machine->unit(UnitRole::issue) == nullptr) return false;
  if (!placed.packed.empty() && !takes_one_sequence(placed)) return false;
  const auto& edges = placed.mapping->edges;
  const auto measured = [&](const PlacedOperation& op) {
    if (!op.tensor || op.instruction == nullptr) return !op.tensor;
    return !op.instruction->timing.empty() ||
           (!op.instruction->asynchronous && placed.machine->constant("mma_sync_ports") > 0);
  };
  return std::any_of(edges.begin(), edges.end(), [&](const EdgeMapping& e) { return holds(e.when, placed.tile); }) &&
         std::all_of(placed.operations.begin(), placed.operations.end(), measured);
}

namespace {

/// What binds an iteration, by name, and the sentence about it. The copies' pipe is the one into the block's level.
void explain_iteration(const Period& p, const TimeModel& model, Prediction& out) {
  const std::string_view into = model.into_block.pipe != nullptr ? model.into_block.name() : model.device.name();
  const std::string pipe = p.pipe.name == "copy" ? std::string(into) : p.pipe.name;
  if (out.bound.empty()) out.bound = p.pipe.clocks >= p.cycle.clocks ? pipe : "critical cycle";
  const std::string in_full = pipe + (p.pipe.beside_tensor ? " beside the tensor cores" : "");
  out.iteration =
      fmt::format("{} binds: an iteration takes {:.0f} clk: {} {:.0f}, the cycle of waits {} {:.0f}, contention {:.0f}",
                  out.bound == pipe ? in_full : out.bound, p.clocks, in_full, p.pipe.clocks,
                  fmt::join(p.cycle.nodes, " > "), p.cycle.clocks, p.contention);
}

std::string_view clock_source(const PlacedDiagram& placed, const Timing& t, const TimeModel& model) {
  if (!t.power) return model.clock.source;
  const Hertz highest = highest_clock(*placed.machine);
  if (t.clock < highest) return "held at the power limit";
  const auto& maximum = placed.machine->clocks.maximum;
  return maximum && highest.value < maximum->value ? "highest beside the matrix units" : "maximum clock";
}

/// `again`: with what device memory sends a second time, where that could take longest.
Prediction predicted(const PlacedDiagram& placed, const Plan& plan, Periods& periods, bool again) {
  const TimeModel model(placed, ByClock::graph);
  if (!model.by_graph) return predict_by_roofline(placed, plan);
  Timing t = model.of(placed, plan.blocks_per_sm, periods);
  if (again && model.may_bind(t)) model.read_again(placed, plan.blocks_per_sm, t);
  const EventGraph graph = event_graph(placed);
  Period period = periods.of(graph);
  explain(graph, period);
  return model.explained(placed, t, &period);
}

}  // namespace

Prediction TimeModel::explained(const PlacedDiagram& placed, const Timing& t, const Period* period) const {
  Prediction out;
  out.clock = t.clock;
  out.clock_source = std::string(clock_source(placed, t, *this));
  out.power = t.power;
  out.cycles = Seconds(t.seconds) * t.clock;
  out.time = with_launch(t);
  out.tflops = out.time.value > 0 ? conventional_flops(placed) / out.time.value / 1e12 : 0;
  out.bound = std::string(t.fullest.name);
  if (period != nullptr) explain_iteration(*period, *this, out);
  const auto report = [&](std::string_view name, double seconds) {
    if (!name.empty()) out.pipes.push_back({std::string(name), t.seconds > 0 ? std::min(seconds / t.seconds, 1.0) : 0});
  };
  out.pipes.reserve(t.load.count + 3);
  for (std::size_t i = 0; i < t.load.count; ++i)
    report(t.load.pipes[i].name, busy_clocks(t.load.pipes[i], t.who) / t.clock.value);
  report(into_block.name(), t.shared.into_block);
  report(device.name(), t.shared.device);
  if (exchange != nullptr) report(exchange->name, t.shared.exchange);
  return out;
}

Prediction predict(const PlacedDiagram& placed, const Plan& plan) {
  Periods periods;
  return predicted(placed, plan, periods, false);
}

Prediction predict(const PlacedDiagram& placed, const Plan& plan, Periods& periods) {
  return predicted(placed, plan, periods, false);
}

Prediction predict_read_again(const PlacedDiagram& placed, const Plan& plan) {
  Periods periods;
  return predicted(placed, plan, periods, true);
}

Prediction predict_by_roofline(const PlacedDiagram& placed, const Plan& plan) {
  const TimeModel model(placed, ByClock::roofline);
  return model.explained(placed, model.of(placed, plan.blocks_per_sm), nullptr);
}

}  // namespace napkin
