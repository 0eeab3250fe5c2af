// The first time model: the fullest pipe, with wave quantisation. Nothing in it is fitted.
//
//   busy(pipe of a node) = loop x iterations + once x blocks            of the busiest node (clock/load.hpp)
//   busy(machine pipe)   = bytes of all blocks / bandwidth              the pipe into the block's level, and device
//   memory time = max busy + waves x exposed + first exposed + synchronisation + launch overhead
//
// exposed: what nothing hides at the ends of a block, once per wave of resident blocks: the latency of the pipe that
// fills the first buffers, the head's and the first iteration's bytes, and the first iteration's vector work before the
// pipes overlap (ramp). The first wave also waits for device memory. (model/README.md section 12)

#include <algorithm>

#include "model/clock/load.hpp"
#include "model/clock/prediction.hpp"
#include "model/clock/synchronise.hpp"

namespace napkin {
namespace {

double real(Count count) { return static_cast<double>(count); }

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

Seconds launch_overhead(const Machine& machine) {
  const auto found = machine.constants.find(std::string_view("launch_overhead"));
  return Seconds(found == machine.constants.end() ? 0 : found->second.value);
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
};

/// The time model of one variant and problem: what their tiles share is found once.
struct TimeModel {
  explicit TimeModel(const PlacedDiagram& placed);
  [[nodiscard]] Timing of(const PlacedDiagram& placed, Count blocks_per_node) const;
  [[nodiscard]] Seconds with_launch(const Timing& timing) const { return Seconds(timing.seconds) + launch; }

  AssumedClock clock;
  Workload workload;
  SharedPipe into_block, device;   // the first is empty where they are one
  const Pipe* exchange = nullptr;  // among the blocks of a cluster
  double compulsory = 0;           // bytes
  double nodes = 1;
  Seconds launch;

 private:
  [[nodiscard]] SharedSeconds shared_seconds(const PlacedDiagram& placed, const Timing& timing) const;
  [[nodiscard]] double exposed_clocks(const Timing& timing, Count blocks_per_node) const;
};

TimeModel::TimeModel(const PlacedDiagram& placed)
    : clock(assumed_clock(*placed.machine)),
      workload(placed),
      into_block(shared_pipe(*placed.machine, placed.block().level, clock.frequency)),
      device(device_pipe(placed, clock.frequency)),
      exchange(exchange_pipe(placed)),
      compulsory(compulsory_bytes(placed)),
      nodes(std::max(real(placed.machine->compute_nodes()), 1.0)),
      launch(launch_overhead(*placed.machine)) {
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

Timing TimeModel::of(const PlacedDiagram& placed, Count blocks_per_node) const {
  Timing t{workload.of(placed), schedule(placed)};
  const double hertz = clock.frequency.value;
  t.shared = shared_seconds(placed, t);
  for (std::size_t i = 0; i < t.load.count; ++i) {
    t.fullest.with(t.load.pipes[i].name, busy_clocks(t.load.pipes[i], t.who) / hertz);
  }
  t.fullest.with(into_block.name(), t.shared.into_block);
  t.fullest.with(device.name(), t.shared.device);
  if (exchange != nullptr) t.fullest.with(exchange->name, t.shared.exchange);
  t.seconds = t.fullest.seconds + exposed_clocks(t, blocks_per_node) / hertz;
  const Synchronisation sync = synchronisation(placed, clock.frequency);
  t.seconds += sync.clocks * times_waited(placed, t.who, blocks_per_node) / hertz + sync.launch.value;
  return t;
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

double conventional_flops(const PlacedDiagram& placed) {
  double flops = 0;
  for (const Operation& op : placed.streamed->diagram.operations) {
    if (op.kind == OpKind::contract) flops += 2 * products(placed, op) * visible_share(placed, op);
  }
  return flops;
}

Timer timer(const PlacedDiagram& like) {
  return [model = TimeModel(like)](const PlacedDiagram& placed, Count blocks_per_sm) {
    return model.with_launch(model.of(placed, blocks_per_sm));
  };
}

Seconds predicted_time(const PlacedDiagram& placed, Count blocks_per_sm) {
  return timer(placed)(placed, blocks_per_sm);
}

Seconds time_lower_bound(const PlacedDiagram& placed) {
  const Hertz clock = assumed_clock(*placed.machine).frequency;
  double tensor = 0;
  for (const PlacedOperation& op : placed.operations) {
    if (op.phase == Phase::loop) tensor += tensor_clocks(placed, op);
  }
  const Schedule who = schedule(placed);
  const double work = tensor * who.total_iterations / who.nodes / clock.value;
  const double bytes = device_pipe(placed, clock).seconds(compulsory_bytes(placed));
  return Seconds(std::max(work, bytes)) + launch_overhead(*placed.machine);
}

Prediction predict(const PlacedDiagram& placed, const Plan& plan) {
  const TimeModel model(placed);
  const Timing t = model.of(placed, plan.blocks_per_sm);
  const Hertz clock = model.clock.frequency;
  Prediction out;
  out.clock = clock;
  out.clock_source = std::string(model.clock.source);
  out.cycles = Seconds(t.seconds) * clock;
  out.time = model.with_launch(t);
  out.tflops = out.time.value > 0 ? conventional_flops(placed) / out.time.value / 1e12 : 0;
  out.bound = std::string(t.fullest.name);
  const auto report = [&](std::string_view name, double seconds) {
    if (!name.empty()) out.pipes.push_back({std::string(name), t.seconds > 0 ? seconds / t.seconds : 0});
  };
  out.pipes.reserve(t.load.count + 3);
  for (std::size_t i = 0; i < t.load.count; ++i)
    report(t.load.pipes[i].name, busy_clocks(t.load.pipes[i], t.who) / clock.value);
  report(model.into_block.name(), t.shared.into_block);
  report(model.device.name(), t.shared.device);
  if (model.exchange != nullptr) report(model.exchange->name, t.shared.exchange);
  return out;
}

}  // namespace napkin
