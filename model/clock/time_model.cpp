// From a placed diagram to a time. Where the tile has an event graph (has_event_graph): its cycles on the busiest node
// (launch/launch.hpp), at the clock that the card holds (power/power.hpp), or the pipes that all nodes share. Else the
// roofline: the fullest pipe, with wave quantisation. Nothing in it is fitted.
//
//   busy(pipe of a node) = loop x iterations + once x blocks            of the busiest node (roofline/load.hpp)
//   busy(machine pipe)   = bytes of all blocks / bandwidth              the pipe into the block's level, and device
//   memory time = max busy + waves x exposed + first exposed + synchronisation + launch overhead
//
// exposed: what nothing hides at the ends of a block, once per wave of resident blocks: the latency of the pipe that
// fills the first buffers, the head's and the first iteration's bytes, and the first iteration's vector work before the
// pipes overlap (ramp). The first wave also waits for device memory. (model/README.md, "Time: the roofline" to
// "Time: power")

#include "model/clock/time_model.hpp"

#include <algorithm>
#include <cmath>

#include "model/clock/launch/other_launches.hpp"
#include "model/clock/launch/resident_blocks.hpp"
#include "model/clock/roofline/combine_cost.hpp"
#include "model/resource/order.hpp"

namespace napkin::internal {
namespace {

/// Returns the bytes of parts, beyond one whole result, that are kept separately in device memory.
double parts_in_memory(const PlacedDiagram& placed) {
  if (!placed.combine || placed.combine->at >= 0) return 0;
  double bytes = 0;
  for (const PackedPart& part : placed.packed) bytes += part.blank ? 0 : parts_in_memory(part.placed);
  if (!placed.packed.empty()) return bytes;
  const auto moved = combine_moved(placed);
  return real(moved->stored.value) * (1 - 1 / real(moved->parts));
}

/// Returns the clocks of the first iteration that overlap with nothing: a pass through tensor and vector work, less the
/// longer of the two.
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

/// Returns how often combining waits: once a wave for barriers, once for turns and for a second launch.
double times_waited(const PlacedDiagram& placed, const Schedule& who, Count blocks_per_node) {
  if (!placed.combine || placed.combine->by != CombineMapping::By::barriers) return 1;
  return waves_of(who, blocks_per_node);
}

/// The clocks of a node's blocks: of all blocks in sequence, of the longest block, and of the busiest pipe.
struct NodeBlocks {
  double alone = 0, longest = 0, pipe = 0;
  double ends = 0;  ///< clocks of `alone` beyond the blocks' iterations
};

/// Returns the clocks of a node that holds several blocks at a time: half way between blocks that hide one another's
/// waits, and blocks that meet the others of their set (those on the same schedulers) on the busiest pipe. Blocks count
/// at the longest length. (eq. 15.1)
double clocks_together(const PlacedDiagram& placed, double resident, const NodeBlocks& node) {
  const Limits& limits = placed.machine->limits;
  const double warps = std::max(real(placed.threads) / real(limits.warp_size), 1.0);
  const double sets = std::max(std::floor(real(limits.schedulers) / warps), 1.0);
  const double together = std::clamp(node.alone / node.longest, 1.0, resident);
  const double each = std::floor(together / sets), rest = together - sets * each;
  double hiding = 0, meeting = 0;  // of all work, a clock
  for (double set = 0; set < sets; ++set) {
    const double blocks = each + std::clamp(rest - set, 0.0, 1.0);
    if (blocks <= 0) break;
    const double full = std::min(node.alone, sets * node.pipe + node.ends / blocks);
    const double hidden = std::min(blocks / node.alone, 1 / full);
    hiding += hidden;
    meeting += std::min(hidden, blocks / (node.alone + (blocks - 1) * full));
  }
  return (std::max(1 / hiding, node.pipe) + std::max(1 / meeting, node.pipe)) / 2;
}

constexpr double unlike = 0.04;  // range of equal blocks' durations over their mean, for continuity

/// Returns the planes of a launch whose problem has one length an axis.
BlockPlanes planes_of(const PlacedDiagram& placed, double total_blocks) {
  BlockPlanes out{{block_runs(placed)}, {}};
  double plane = 0;
  for (const EqualBlocks& run : out.kinds.front()) plane += static_cast<double>(run.blocks);
  out.runs.push_back({0, static_cast<std::int64_t>(std::floor(total_blocks / std::max(plane, 1.0)))});
  return out;
}

/// Returns the clocks of a launch whose unequal blocks share nodes, each put onto the first node with room, but no more
/// than if all were as long as the longest; 0 where they are equal or go in another order. (eq. 15.1)
double clocks_of_unequal(const PlacedDiagram& placed, Count resident, const KnownLaunch& known, NodeBlocks node) {
  const LaunchShape& shape = known.shape;
  const bool listed = !shape.packed || known.clocks.planes != nullptr;
  if (!shape.unequal || !listed || block_order(placed) != BlockOrder::grid) return 0;
  const auto nodes = static_cast<std::size_t>(shape.who.nodes);
  const double iterations = shape.who.longest * known.period.clocks;
  const double each = shape.packed ? known.clocks.longest : iterations + known.clocks.beyond;
  ResidentLaunch launch =
      shape.packed
          ? ResidentLaunch{*known.clocks.planes, nodes, 1, 0, {}, unlike}
          : ResidentLaunch{
                planes_of(placed, shape.who.total_blocks), nodes, known.period.clocks, known.clocks.beyond, {}, unlike};
  const double equal = shape.who.blocks * each;
  const double pipe = std::min(known.period.pipe.clocks * shape.who.longest * shape.who.blocks, equal);
  const double most =
      clocks_together(placed, real(resident), {equal, each, pipe, equal - shape.who.blocks * iterations});
  for (Count blocks(1); blocks <= resident; blocks += Count(1)) {
    node.longest = node.alone / real(blocks);
    launch.shares.push_back(clocks_together(placed, real(blocks), node) / node.alone);
  }
  return known.clocks.start + std::min(resident_clocks(launch), most);
}

}  // namespace

double busy_clocks(const PipeLoad& pipe, const Schedule& who) {
  return pipe.loop * who.iterations + pipe.once * who.blocks;
}

TimeModel::TimeModel(const PlacedDiagram& placed, ByClock wanted)
    : clock(assumed_clock(*placed.machine)),
      workload(placed),
      into_block(shared_pipe(*placed.machine, placed.block().level, clock.frequency)),
      device(device_pipe(placed, clock.frequency)),
      exchange(exchange_pipe(placed)),
      compulsory(compulsory_bytes(placed)),
      from_device(comes_from_device(*placed.machine, *placed.streamed, *placed.problem)),
      nodes(std::max(real(placed.machine->compute_nodes()), 1.0)),
      rates(energy_rates(placed)),
      power(power_law(*placed.machine)),
      launch(launch_overhead(*placed.machine) + time_of_other_launches(placed, clock.frequency)),
      by_graph(wanted == ByClock::graph) {
  if (into_block.pipe == device.pipe) into_block = {};
}

SharedSeconds TimeModel::shared_seconds(const PlacedDiagram& placed, const Timing& t) const {
  const double bytes = t.load.loop_bytes * t.who.total_iterations + t.load.once_bytes * t.who.total_blocks;
  const bool one = into_block.pipe == nullptr;
  SharedSeconds out;
  out.into_block = into_block.seconds(bytes);
  const double rows = by_graph && from_device ? bytes_beside_rows(placed) : 0;
  out.device = device.seconds(one ? std::max(bytes, compulsory) : compulsory + parts_in_memory(placed) + rows);
  if (exchange == nullptr) return out;
  const double rate = bytes_per_second(*placed.machine, *exchange, clock.frequency, placed.cluster);
  if (rate > 0) out.exchange = t.load.part_bytes * t.who.total_blocks / rate;
  return out;
}

/// Returns the clocks of a block's first copies from the L2 while all nodes copy.
double TimeModel::first_chunk(const Timing& t) const {
  const SharedPipe& into = into_block.pipe != nullptr ? into_block : device;
  const double rate = into.rate / clock.frequency.value / nodes;
  return rate > 0 ? (t.load.once_bytes + t.load.loop_bytes) / rate : 0;
}

/// Returns the clocks at the ends of the busiest node's blocks that no work hides. (comment at the top of the file)
double TimeModel::exposed_clocks(const Timing& t, Count blocks_per_node) const {
  const SharedPipe& into = into_block.pipe != nullptr ? into_block : device;
  const double fill = into.latency() + ramp(t.load) + first_chunk(t);
  return waves_of(t.who, blocks_per_node) * fill + (into_block.pipe != nullptr ? device.latency() : 0);
}

Timing TimeModel::of(const PlacedDiagram& placed, Count blocks_per_node, const KnownLaunch* known) const {
  Timing t{workload.of(placed), schedule(placed), {}, {}, 0, Hertz(0), {}};
  t.shared = shared_seconds(placed, t);
  if (known != nullptr)
    event_clock(placed, blocks_per_node, *known, t);
  else
    roofline_time(blocks_per_node, t);
  synchronise(placed, blocks_per_node, t);
  return t;
}

void TimeModel::synchronise(const PlacedDiagram& placed, Count blocks_per_node, Timing& t) const {
  const Synchronisation sync = synchronisation(placed, t.clock);
  t.seconds += sync.clocks * times_waited(placed, t.who, blocks_per_node) / t.clock.value + sync.launch.value;
}

Timing TimeModel::at(const PlacedDiagram& placed, Count blocks_per_node, Timing t, Hertz wanted) const {
  t.clock = wanted;
  t.fullest = {};
  t.fullest.with("", t.cycles / wanted.value);  // explain() names it
  wait_for_device(t);
  if (exchange != nullptr) t.fullest.with(exchange->name, t.shared.exchange);
  t.seconds = t.fullest.seconds;
  synchronise(placed, blocks_per_node, t);
  return t;
}

Timing TimeModel::of(const PlacedDiagram& placed, Count blocks_per_node, const EventGraph& graph,
                     const Period& period) const {
  const LaunchShape shape = launch_shape(placed);
  const BlockEnergy energy = block_energy(placed, graph, rates);
  const KnownLaunch known{period, energy, shape, launch_clocks(placed, graph, period, shape),
                          rates.known ? device_bytes_in_order(placed) : 0};
  return of(placed, blocks_per_node, &known);
}

void TimeModel::wait_for_device(Timing& t) const {
  const bool binds = t.device.binds(t.shared.device, t.clock.value);
  t.fullest.with(binds ? device.name() : t.fullest.name, device_seconds(t, t.shared.device));
}

bool TimeModel::may_bind(const Timing& t) const {
  const double all = t.load.loop_bytes * t.who.total_iterations + t.load.once_bytes * t.who.total_blocks;
  return device_seconds(t, device.seconds(std::max(all, compulsory))) > t.fullest.seconds;
}

void TimeModel::read_again(const PlacedDiagram& placed, double bytes, Timing& t) const {
  const double before = t.fullest.seconds;
  t.shared.device += device.seconds(bytes);
  if (t.energy) {
    const double counted = device_bytes(placed) > 0 ? reread_by_waves(placed) : 0;
    t.energy->device += (bytes - counted) * rates.device;
    hold_clock(t);
  }
  wait_for_device(t);
  t.seconds += t.fullest.seconds - before;
}

void TimeModel::notice_rereads(const PlacedDiagram& placed, Count blocks_per_node, Timing& t,
                               KnownRereads& known) const {
  if (into_block.pipe == nullptr || !may_bind(t)) return;
  Timing more;
  const auto are_noticed = [&](double again) {
    more = t;
    read_again(placed, again, more);
    return with_launch(more).value > 1.001 * with_launch(t).value;
  };
  const double bytes =
      known.of(placed, blocks_per_node, [&](double most) { return std::isfinite(most) && !are_noticed(most); });
  if (!std::isfinite(bytes)) {
    t.seconds = bytes;
    return;
  }
  if (are_noticed(bytes)) t = more;
}

Fullest TimeModel::fullest_of(const BlockLoad& load, const Schedule& who, const SharedSeconds& shared) const {
  Fullest out;
  for (std::size_t i = 0; i < load.count; ++i)
    out.with(load.pipes[i].name, busy_clocks(load.pipes[i], who) / clock.frequency.value);
  out.with(into_block.name(), shared.into_block);
  out.with(device.name(), shared.device);
  if (exchange != nullptr) out.with(exchange->name, shared.exchange);
  return out;
}

void TimeModel::roofline_time(Count blocks_per_node, Timing& t) const {
  t.clock = clock.frequency;
  t.fullest = fullest_of(t.load, t.who, t.shared);
  t.seconds = t.fullest.seconds + exposed_clocks(t, blocks_per_node) / t.clock.value;
}

/// Converts the cycles to seconds at the clock that the card holds with that energy.
void TimeModel::hold_clock(Timing& t) const {
  if (t.energy) {
    const HeldClock held = held_clock(power, *t.energy, t.cycles, Seconds(device_seconds(t, t.shared.device)));
    t.clock = held.clock;
    t.power = held.power;
  }
  t.fullest.with("", t.cycles / t.clock.value);  // explain() names it
}

/// Computes the cycles: the graph's or those of the pipes that nodes share, whichever are more. Blocks on a node hide
/// one another's waits down to the busiest pipe's time, but not their ends, as they begin together.
void TimeModel::event_clock(const PlacedDiagram& placed, Count blocks_per_node, const KnownLaunch& known,
                            Timing& t) const {
  const Period& period = known.period;
  const double resident = real(std::max(blocks_per_node, Count(1)));
  double cycles = known.clocks.busiest;
  if (resident > 1 && known.clocks.longest > 0) {
    const double pipe = std::min(cycles, period.pipe.clocks * t.who.iterations);
    const double ends = std::max(cycles - period.clocks * t.who.iterations, 0.0);
    const NodeBlocks node{cycles, known.clocks.longest, pipe, ends};
    cycles = std::max(clocks_together(placed, resident, node), clocks_of_unequal(placed, blocks_per_node, known, node));
  }
  t.clock = clock.frequency;
  t.cycles = cycles;
  t.meeting = meeting_of_cluster(placed);
  if (from_device)
    t.device = device_time(known.shape, known.clocks, period, block_order(placed), resident, first_chunk(t));
  if (rates.known) t.energy = energy_of(placed, known.energy, rates, known.shape, known.device_bytes);
  hold_clock(t);
  wait_for_device(t);
  if (exchange != nullptr) t.fullest.with(exchange->name, t.shared.exchange);
  t.seconds = t.fullest.seconds;
}

}  // namespace napkin::internal
