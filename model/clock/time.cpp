// Predictions and timers: the time of a tile (clock/time_model) with its clock, what binds it and the share of each
// pipe.

#include <algorithm>

#include "model/clock/graph/needs.hpp"
#include "model/clock/time_model.hpp"
#include "model/mapping/compile/ways.hpp"
#include "model/mapping/knobs.hpp"
#include "model/mapping/read/load.hpp"
#include "model/resource/plan.hpp"
#include "model/resource/reuse.hpp"

namespace napkin::internal {

bool has_event_graph(const PlacedDiagram& placed) {
  if (goes_ways(placed)) return placed.packed.empty() && !placed.mapping->edges.empty();
  if (placed.machine->unit(UnitRole::issue) == nullptr || !runs_on(*placed.mapping, *placed.machine)) return false;
  if (!placed.packed.empty() && !takes_one_sequence(placed)) return false;
  if (!graph_needs_known(placed)) return false;
  const auto& edges = placed.mapping->edges;
  const auto measured = [&](const PlacedOperation& op) {
    if (!op.tensor || op.instruction == nullptr) return !op.tensor;
    return !op.instruction->timing.empty() ||
           (!op.instruction->asynchronous && placed.machine->constant_or("mma_sync_ports", 0) > 0);
  };
  return std::any_of(edges.begin(), edges.end(), [&](const EdgeMapping& e) { return holds(e.when, placed.tile); }) &&
         std::all_of(placed.operations.begin(), placed.operations.end(), measured);
}

namespace {

/// Sets what limits an iteration, and its clocks. The copies' pipe is the pipe into the block's level.
void explain_iteration(const Period& p, const TimeModel& model, Prediction& out) {
  const std::string_view into = model.into_block.pipe != nullptr ? model.into_block.name() : model.device.name();
  const std::string pipe = p.pipe.name == "copy" ? std::string(into) : p.pipe.name;
  if (out.bound.empty()) out.bound = p.pipe.clocks >= p.cycle.clocks ? pipe : "critical cycle";
  out.iteration =
      Iteration{p.clocks, pipe, p.pipe.beside_tensor, p.pipe.clocks, p.cycle.nodes, p.cycle.clocks, p.contention};
}

std::string_view clock_source(const PlacedDiagram& placed, const Timing& t, const TimeModel& model) {
  if (!t.power) return model.clock.source;
  const Hertz highest = highest_clock(*placed.machine);
  if (t.clock < highest) return "held at the power limit";
  const auto& maximum = placed.machine->clocks.maximum;
  if (!placed.machine->power.limit) return "highest clock: no power limit is known";
  return maximum && highest.value < maximum->value ? "highest beside the matrix units" : "maximum clock";
}

}  // namespace

Prediction TimeModel::explained(const PlacedDiagram& placed, const Timing& t, const Period* period) const {
  Prediction out;
  out.clock = t.clock;
  out.clock_source = std::string(clock_source(placed, t, *this));
  out.power = t.power;
  out.cycles = Seconds(t.seconds) * t.clock;
  out.time = with_launch(t);
  out.tflops = out.time.value > 0 ? real(work(placed).flops.value) / out.time.value / 1e12 : 0;
  out.bound = std::string(t.fullest.name);
  out.at_least = period == nullptr;
  if (period != nullptr) explain_iteration(*period, *this, out);
  out.nodes = placed.machine->compute_nodes();
  out.busy_nodes = Count(static_cast<std::int64_t>(std::min(std::max(t.who.total_blocks, 1.0), real(out.nodes))));
  const double steady = period != nullptr ? t.who.iterations * period->clocks / t.clock.value : t.fullest.seconds;
  if (t.seconds > 0) out.ends = std::clamp(1 - steady / t.seconds, 0.0, 1.0);
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

Prediction predict(const PlacedDiagram& placed, const PredictOptions& options) {
  Periods own_periods;
  KnownRereads own_rereads;
  Periods& periods = options.periods != nullptr ? *options.periods : own_periods;
  KnownRereads& rereads = options.rereads != nullptr ? *options.rereads : own_rereads;
  const Count blocks = options.blocks_per_node ? *options.blocks_per_node : occupancy(placed).blocks;
  const bool by_graph = options.graph != nullptr || (options.by == ByClock::graph && has_event_graph(placed));
  const TimeModel model(placed, by_graph ? ByClock::graph : ByClock::roofline);
  if (!by_graph) {
    Timing timing = model.of(placed, blocks);
    model.notice_rereads(placed, blocks, timing, rereads);
    return model.explained(placed, timing, nullptr);
  }
  const EventGraph own_graph = options.graph != nullptr ? EventGraph{} : event_graph(placed);
  const EventGraph& graph = options.graph != nullptr ? *options.graph : own_graph;
  const Period& period = periods.explained(graph);
  Timing timing = model.of(placed, blocks, graph, period);
  model.notice_rereads(placed, blocks, timing, rereads);
  return model.explained(placed, timing, &period);
}

}  // namespace napkin::internal
