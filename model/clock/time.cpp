// From a placed diagram to a time. Where the tile has an event graph (has_event_graph): its cycles on the busiest node
// (clock/waves.hpp), at the clock that the card holds (clock/power.hpp), or the pipes that all nodes share. Else the
// first clock: the fullest pipe, with wave quantisation. Nothing in it is fitted.
//
//   busy(pipe of a node) = loop x iterations + once x blocks            of the busiest node (clock/load.hpp)
//   busy(machine pipe)   = bytes of all blocks / bandwidth              the pipe into the block's level, and device
//   memory time = max busy + waves x exposed + first exposed + synchronisation + launch overhead
//
// exposed: what nothing hides at the ends of a block, once per wave of resident blocks: the latency of the pipe that
// fills the first buffers, the head's and the first iteration's bytes, and the first iteration's vector work before the
// pipes overlap (ramp). The first wave also waits for device memory. (model/README.md section 12)

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/clock/load.hpp"
#include "model/clock/power.hpp"
#include "model/clock/prediction.hpp"
#include "model/clock/synchronise.hpp"
#include "model/mapping/compiled.hpp"
#include "model/resource/order.hpp"
#include "model/resource/reuse.hpp"

namespace napkin {
namespace {

/// A pipe of the machine that all nodes share.
struct SharedPipe {
  const Pipe* pipe = nullptr;
  double rate = 0;  // bytes a second
  [[nodiscard]] double seconds(double bytes) const { return rate > 0 ? bytes / rate : 0; }
  [[nodiscard]] double latency() const { return pipe != nullptr && pipe->latency ? pipe->latency->value : 0; }
  [[nodiscard]] std::string_view name() const { return pipe != nullptr ? pipe->name : std::string_view(); }
};

SharedPipe shared_pipe(const Machine& machine, LevelId into, Hertz clock) {
  const Pipe* pipe = machine.pipe_into(into);
  return {pipe, pipe != nullptr ? bytes_per_second(machine, *pipe, clock) : 0};
}

SharedPipe device_pipe(const PlacedDiagram& placed, Hertz clock) {
  const Machine& machine = *placed.machine;
  LevelId at = placed.block().level;
  while (at > 0 && machine.levels[static_cast<std::size_t>(at)].parent > 0)
    at = machine.levels[static_cast<std::size_t>(at)].parent;
  return shared_pipe(machine, at, clock);
}

/// Bytes of parts beyond one whole result that stay apart in device memory.
double parts_in_memory(const PlacedDiagram& placed) {
  if (!placed.combine || placed.combine->at >= 0) return 0;
  double bytes = 0;
  for (const PackedPart& part : placed.packed) bytes += part.blank ? 0 : parts_in_memory(part.placed);
  if (!placed.packed.empty()) return bytes;
  const auto moved = combine_moved(placed);
  return real(moved->stored.value) * (1 - 1 / real(moved->parts));
}

double busy_clocks(const PipeLoad& pipe, const Schedule& who) {
  return pipe.loop * who.iterations + pipe.once * who.blocks;
}

/// Clocks of the first iteration that overlap with nothing: one pass through tensor and vector work, less the longer
/// one.
double ramp(const BlockLoad& load) {
  double vector = 0;
  for (std::size_t i = 0; i < load.count; ++i) {
    if (load.pipes[i].vector) vector = std::max(vector, load.pipes[i].loop);
  }
  return std::min(load.tensor().loop, vector);
}

double waves_of(const Schedule& who, Count blocks_per_node) {
  return real(ceil_div(Count(static_cast<std::int64_t>(who.blocks)), std::max(blocks_per_node, Count(1))));
}

/// Barriers are passed by wave after wave; turns and a second launch come once.
double times_waited(const PlacedDiagram& placed, const Schedule& who, Count blocks_per_node) {
  if (!placed.combine || placed.combine->by != CombineMapping::By::barriers) return 1;
  return waves_of(who, blocks_per_node);
}

/// The fullest pipe's seconds, and its name.
struct Fullest {
  double seconds = 0;
  std::string_view name = "none";
  void with(std::string_view pipe, double busy) {
    if (busy > seconds) {
      seconds = busy;
      name = pipe;
    }
  }
};

/// Seconds of the pipes that nodes share.
struct SharedSeconds {
  double into_block = 0, device = 0, exchange = 0;
};

struct Timing {
  BlockLoad load;
  Schedule who;
  SharedSeconds shared = {};
  Fullest fullest = {};
  double seconds = 0;  // without the launch
  Hertz clock;
  std::optional<Watts> power = {};
  double cycles = 0;   // by the graph
  double meeting = 0;  // clocks behind the last block's end, until its cluster may leave
  std::optional<Energy> energy = {};
};

/// The time model of one variant and problem: what their tiles share is found once.
struct TimeModel {
  /// Without periods: the first clock.
  TimeModel(const PlacedDiagram& placed, std::shared_ptr<Periods> periods);
  [[nodiscard]] Timing of(const PlacedDiagram& placed, Count blocks_per_node, const KnownGraph* known = nullptr) const;
  /// With what device memory sends a second time because the L2 no longer holds it. (resource/reuse)
  void read_again(const PlacedDiagram& placed, Count blocks_per_node, Timing& timing) const;
  /// Whether it could take longest: if all that blocks load came from device memory.
  [[nodiscard]] bool may_bind(const Timing& timing) const;
  [[nodiscard]] Seconds with_launch(const Timing& timing) const { return Seconds(timing.seconds + timing.meeting / timing.clock.value) + launch; }

  AssumedClock clock;
  Workload workload;
  SharedPipe into_block, device;   // the first is empty where they are one
  const Pipe* exchange = nullptr;  // among the blocks of a cluster
  double compulsory = 0;           // bytes
  double nodes = 1;
  EnergyRates rates;
  PowerLaw power;
  Seconds launch;
  std::shared_ptr<Periods> periods;
  bool by_graph = false;

 private:
  void first_clock(Count blocks_per_node, Timing& timing) const;
  void hold_clock(Timing& timing) const;
  void event_clock(const PlacedDiagram& placed, Count blocks_per_node, const KnownGraph& known, Timing& timing) const;
  [[nodiscard]] SharedSeconds shared_seconds(const PlacedDiagram& placed, const Timing& timing) const;
  [[nodiscard]] double exposed_clocks(const Timing& timing, Count blocks_per_node) const;
};

TimeModel::TimeModel(const PlacedDiagram& placed, std::shared_ptr<Periods> shared_periods)
    : clock(assumed_clock(*placed.machine)),
      workload(placed),
      into_block(shared_pipe(*placed.machine, placed.block().level, clock.frequency)),
      device(device_pipe(placed, clock.frequency)),
      exchange(exchange_pipe(placed)),
      compulsory(compulsory_bytes(placed)),
      nodes(std::max(real(placed.machine->compute_nodes()), 1.0)),
      rates(energy_rates(*placed.machine)),
      power(power_law(*placed.machine)),
      launch(launch_overhead(*placed.machine)),
      periods(std::move(shared_periods)),
      by_graph(periods != nullptr && has_event_graph(placed)) {
  if (into_block.pipe == device.pipe) into_block = {};
}

SharedSeconds TimeModel::shared_seconds(const PlacedDiagram& placed, const Timing& t) const {
  const double bytes = t.load.loop_bytes * t.who.total_iterations + t.load.once_bytes * t.who.total_blocks;
  const bool one = into_block.pipe == nullptr;
  SharedSeconds out;
  out.into_block = into_block.seconds(bytes);
  out.device = device.seconds(one ? std::max(bytes, compulsory) : compulsory + parts_in_memory(placed));
  if (exchange == nullptr) return out;
  const double rate = bytes_per_second(*placed.machine, *exchange, clock.frequency, placed.cluster);
  if (rate > 0) out.exchange = t.load.part_bytes * t.who.total_blocks / rate;
  return out;
}

/// Clocks at the ends of the busiest node's blocks that no work hides. (comment at the top of the file)
double TimeModel::exposed_clocks(const Timing& t, Count blocks_per_node) const {
  const SharedPipe& into = into_block.pipe != nullptr ? into_block : device;
  const double rate = into.rate / clock.frequency.value / nodes;
  double fill = into.latency() + ramp(t.load);
  if (rate > 0) fill += (t.load.once_bytes + t.load.loop_bytes) / rate;
  return waves_of(t.who, blocks_per_node) * fill + (into_block.pipe != nullptr ? device.latency() : 0);
}

Timing TimeModel::of(const PlacedDiagram& placed, Count blocks_per_node, const KnownGraph* known) const {
  Timing t{workload.of(placed), schedule(placed), {}, {}, 0, Hertz(0), {}};
  t.shared = shared_seconds(placed, t);
  if (known != nullptr) {
    event_clock(placed, blocks_per_node, *known, t);
  } else if (by_graph) {
    const EventGraph graph = event_graph(placed);
    event_clock(placed, blocks_per_node, {graph, periods->of(graph)}, t);
  } else {
    first_clock(blocks_per_node, t);
  }
  const Synchronisation sync = synchronisation(placed, t.clock);
  t.seconds += sync.clocks * times_waited(placed, t.who, blocks_per_node) / t.clock.value + sync.launch.value;
  return t;
}

bool TimeModel::may_bind(const Timing& t) const {
  const double all = t.load.loop_bytes * t.who.total_iterations + t.load.once_bytes * t.who.total_blocks;
  return device.seconds(std::max(all, compulsory)) > t.fullest.seconds;
}

void TimeModel::read_again(const PlacedDiagram& placed, Count blocks_per_node, Timing& t) const {
  if (into_block.pipe == nullptr) return;
  const double bytes = real(reread_bytes(placed, blocks_per_node).value), before = t.fullest.seconds;
  t.shared.device += device.seconds(bytes);
  if (t.energy) {
    const double counted = device_bytes(placed) > 0 ? reread_by_waves(placed) : 0;
    t.energy->device += (bytes - counted) * rates.device;
    hold_clock(t);
  }
  t.fullest.with(device.name(), t.shared.device);
  t.seconds += t.fullest.seconds - before;
}

void TimeModel::first_clock(Count blocks_per_node, Timing& t) const {
  t.clock = clock.frequency;
  const double hertz = t.clock.value;
  for (std::size_t i = 0; i < t.load.count; ++i) {
    t.fullest.with(t.load.pipes[i].name, busy_clocks(t.load.pipes[i], t.who) / hertz);
  }
  t.fullest.with(into_block.name(), t.shared.into_block);
  t.fullest.with(device.name(), t.shared.device);
  if (exchange != nullptr) t.fullest.with(exchange->name, t.shared.exchange);
  t.seconds = t.fullest.seconds + exposed_clocks(t, blocks_per_node) / hertz;
}

/// The cycles at the clock that the card holds with that energy.
void TimeModel::hold_clock(Timing& t) const {
  if (t.energy) {
    const HeldClock held = held_clock(power, *t.energy, t.cycles);
    t.clock = held.clock;
    t.power = held.power;
  }
  t.fullest.with("", t.cycles / t.clock.value);  // named where it is explained
}

/// Clocks of a node that runs `together` blocks at a time, of which each alone would take `alone` for all of them and the
/// busiest pipe `full`. A block of fewer warps than schedulers runs on as many of them; blocks that do not share theirs
/// evenly leave some schedulers to fewer blocks.
double clocks_together(const PlacedDiagram& placed, double together, double alone, double full) {
  const Limits& limits = placed.machine->limits;
  const double warps = std::max(real(placed.threads) / real(limits.warp_size), 1.0);
  const double sets = std::max(std::floor(real(limits.schedulers) / warps), 1.0);
  double a_clock = 0;
  for (double set = 0; set < sets; ++set) {
    const double blocks = std::floor((together + sets - 1 - set) / sets);
    a_clock += std::min(blocks / alone, 1 / (sets * full));
  }
  return 1 / a_clock;
}

/// The graph's cycles, or the pipes that nodes share, whichever take longer. Blocks that share a node hide one
/// another's waits, down to what the busiest pipe takes, but not their ends: they begin together.
void TimeModel::event_clock(const PlacedDiagram& placed, Count blocks_per_node, const KnownGraph& known, Timing& t) const {
  const Period& period = known.period;
  const LaunchShape own = known.shape != nullptr ? LaunchShape{} : launch_shape(placed);
  const LaunchShape& shape = known.shape != nullptr ? *known.shape : own;
  const LaunchClocks launched = known.launched != nullptr ? *known.launched : launch_clocks(placed, known.graph, period, shape);
  const double together = std::min(real(std::max(blocks_per_node, Count(1))), std::max(t.who.blocks, 1.0));
  double cycles = launched.busiest;
  if (together > 1) {
    const double ends = std::max(cycles - period.clocks * t.who.iterations, 0.0);
    const double full = std::min(cycles, period.pipe.clocks * t.who.iterations + ends / together);
    cycles = clocks_together(placed, together, cycles, full);
  }
  t.clock = clock.frequency;
  t.cycles = cycles;
  t.meeting = meeting_of_cluster(placed);
  if (rates.known) t.energy = energy_of(placed, known.energy != nullptr ? *known.energy : block_energy(placed, known.graph, rates), rates, shape);
  hold_clock(t);
  t.fullest.with(device.name(), t.shared.device);
  if (exchange != nullptr) t.fullest.with(exchange->name, t.shared.exchange);
  t.seconds = t.fullest.seconds;
}

/// Products of one contraction over all its axes at full size.
double products(const PlacedDiagram& placed, const Operation& op) {
  const Sizes& sizes = placed.problem->sizes;
  double product = 1;
  for (const AxisId a : placed.streamed->diagram.arrays[static_cast<std::size_t>(op.outputs.front())].axes) {
    product *= real(sizes[static_cast<std::size_t>(a)]);
  }
  for (const AxisId a : op.own) product *= real(sizes[static_cast<std::size_t>(a)]);
  return product;
}

/// The share of its products that the question's mask leaves to a contraction: 1 where it lacks an axis of the mask.
double visible_share(const PlacedDiagram& placed, const Operation& op) {
  const Mask& mask = placed.problem->mask;
  if (mask.kind == Mask::Kind::none) return 1;
  const Diagram& d = placed.streamed->diagram;
  const auto ranges_over = [&](AxisId axis) {
    return op.owns(axis) || d.arrays[static_cast<std::size_t>(op.outputs.front())].has(axis);
  };
  for (const Operation& other : d.operations) {
    if (!other.mask || !ranges_over((*other.mask)[0]) || !ranges_over((*other.mask)[1])) continue;
    if (mask.kind == Mask::Kind::causal) return 0.5;
    const Count rows = placed.problem->sizes[static_cast<std::size_t>((*other.mask)[0])];
    const Count columns = placed.problem->sizes[static_cast<std::size_t>((*other.mask)[1])];
    return real(visible_pairs(mask, rows.get(), columns.get())) / (real(rows) * real(columns));
  }
  return 1;
}

}  // namespace

AssumedClock assumed_clock(const Machine& machine) {
  const Clocks& c = machine.clocks;
  if (c.tensor) return {Hertz(c.tensor->value), "datasheet tensor clock"};
  if (c.maximum) return {Hertz(c.maximum->value), "maximum clock"};
  if (c.base) return {Hertz(c.base->value), "base clock"};
  return {};
}

Seconds launch_overhead(const Machine& machine) {
  const Number* gap = machine.find_constant("launch_gap");
  return Seconds(gap != nullptr ? gap->value : machine.constant("launch_overhead"));
}

double conventional_flops(const PlacedDiagram& placed) {
  double flops = 0;
  for (const PackedPart& part : placed.packed) flops += part.blank ? 0 : conventional_flops(part.placed);
  if (!placed.packed.empty()) return flops;
  for (const Operation& op : placed.streamed->diagram.operations) {
    if (op.kind == OpKind::contract) flops += 2 * products(placed, op) * visible_share(placed, op);
  }
  return flops;
}

bool has_event_graph(const PlacedDiagram& placed) {
  const Unit* issue = placed.machine->unit("issue");
  if (issue == nullptr || !issue->per_clock.known()) return false;
  if (!placed.packed.empty() && !takes_one_sequence(placed)) return false;
  const auto& edges = placed.mapping->edges;
  const auto measured = [&](const PlacedOperation& op) {
    if (!op.tensor || op.instruction == nullptr) return !op.tensor;
    return !op.instruction->timing.empty() || (!asynchronous(*op.instruction) && placed.machine->constant("mma_sync_ports") > 0);
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

Prediction predicted_by(const TimeModel& model, const PlacedDiagram& placed, const Plan& plan, ReadAgain again = ReadAgain::counted,
                        const KnownGraph* known = nullptr) {
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
