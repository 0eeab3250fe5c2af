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

std::function<Timer(const PlacedDiagram& like)> timers() { return timers(std::make_shared<Periods>()); }

std::function<Timer(const PlacedDiagram& like)> timers(std::shared_ptr<Periods> shared) {
  return [periods = std::move(shared)](const PlacedDiagram& like) -> Timer {
    return [model = TimeModel(like, periods)](const PlacedDiagram& placed, Count blocks_per_sm) {
      return model.with_launch(model.of(placed, blocks_per_sm));
    };
  };
}

Timer timer(const PlacedDiagram& like) { return timers()(like); }

Timer first_clock_timer(const PlacedDiagram& like) {
  return [model = TimeModel(like, nullptr)](const PlacedDiagram& placed, Count blocks_per_sm) {
    return model.with_launch(model.of(placed, blocks_per_sm));
  };
}

Seconds predicted_time(const PlacedDiagram& placed, Count blocks_per_sm) {
  return timer(placed)(placed, blocks_per_sm);
}

Seconds time_lower_bound(const PlacedDiagram& placed) {
  const Hertz assumed = assumed_clock(*placed.machine).frequency;
  const auto& maximum = placed.machine->clocks.maximum;
  const double highest = has_event_graph(placed) && maximum ? std::max(maximum->value, assumed.value) : assumed.value;
  double tensor = 0;
  for (const PlacedOperation& op : placed.operations) {
    if (op.phase == Phase::loop) tensor += tensor_clocks(placed, op);
  }
  const Schedule who = schedule(placed);
  const double work = tensor * who.total_iterations / who.nodes / highest;
  const double bytes = device_pipe(placed, assumed).seconds(compulsory_bytes(placed));
  return Seconds(std::max(work, bytes)) + launch_overhead(*placed.machine);
}

namespace {

Period explained(const PlacedDiagram& placed, const TimeModel& model) {
  const EventGraph graph = event_graph(placed);
  Period out = model.periods->of(graph);
  explain(graph, out);
  return out;
}

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

enum class ReadAgain { counted, where_it_may_bind, never };

Prediction predicted_by(const TimeModel& model, const PlacedDiagram& placed, const Plan& plan,
                        ReadAgain again = ReadAgain::counted, const KnownGraph* known = nullptr) {
  Timing t = model.of(placed, plan.blocks_per_sm, known);
  const bool counts = again == ReadAgain::counted || (again == ReadAgain::where_it_may_bind && model.may_bind(t));
  if (model.by_graph && counts) model.read_again(placed, plan.blocks_per_sm, t);
  Prediction out;
  out.clock = t.clock;
  out.clock_source = std::string(clock_source(placed, t, model));
  out.power = t.power;
  out.cycles = Seconds(t.seconds) * t.clock;
  out.time = model.with_launch(t);
  out.tflops = out.time.value > 0 ? conventional_flops(placed) / out.time.value / 1e12 : 0;
  out.bound = std::string(t.fullest.name);
  if (known != nullptr)
    explain_iteration(known->period, model, out);
  else if (model.by_graph)
    explain_iteration(explained(placed, model), model, out);
  const auto report = [&](std::string_view name, double seconds) {
    if (!name.empty()) out.pipes.push_back({std::string(name), t.seconds > 0 ? std::min(seconds / t.seconds, 1.0) : 0});
  };
  out.pipes.reserve(t.load.count + 3);
  for (std::size_t i = 0; i < t.load.count; ++i)
    report(t.load.pipes[i].name, busy_clocks(t.load.pipes[i], t.who) / t.clock.value);
  report(model.into_block.name(), t.shared.into_block);
  report(model.device.name(), t.shared.device);
  if (model.exchange != nullptr) report(model.exchange->name, t.shared.exchange);
  return out;
}

}  // namespace

Prediction predict(const PlacedDiagram& placed, const Plan& plan) {
  return predict(placed, plan, std::make_shared<Periods>());
}

Prediction predict(const PlacedDiagram& placed, const Plan& plan, std::shared_ptr<Periods> periods) {
  return predicted_by(TimeModel(placed, std::move(periods)), placed, plan, ReadAgain::never);
}

KnownTimer known_timer(const PlacedDiagram& like) {
  const auto model = std::make_shared<const TimeModel>(like, nullptr);
  const auto time = [model](const PlacedDiagram& placed, Count blocks_per_sm, const KnownGraph& known) {
    return model->with_launch(model->of(placed, blocks_per_sm, &known));
  };
  const auto predict = [model](const PlacedDiagram& placed, const Plan& plan, const KnownGraph& known) {
    return predicted_by(*model, placed, plan, ReadAgain::never, &known);
  };
  return {time, predict};
}

Prediction predict_quickly(const PlacedDiagram& placed, const Plan& plan) {
  return predicted_by(TimeModel(placed, std::make_shared<Periods>()), placed, plan, ReadAgain::where_it_may_bind);
}

Prediction predict_by_first_clock(const PlacedDiagram& placed, const Plan& plan) {
  return predicted_by(TimeModel(placed, nullptr), placed, plan);
}

}  // namespace napkin
