#include "model/clock/graph/copy_cost.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "model/clock/roofline/assumed_clock.hpp"
#include "model/clock/roofline/load.hpp"
#include "model/clock/roofline/node_rate.hpp"
#include "model/mapping/compile/compiled.hpp"
#include "model/resource/boxes.hpp"
#include "model/resource/order.hpp"
#include "model/resource/plan.hpp"
#include "model/resource/resources.hpp"
#include "model/resource/reuse.hpp"

namespace napkin::internal {
namespace {

/// Returns the bytes of a row that a block's copy loads.
Count row_bytes(const PlacedDiagram& placed, const Crossing& crossing) {
  const AxisId last = placed.axes_of(crossing).back();
  const bool streams = placed.streamed->stream && *placed.streamed->stream == last;
  const Count columns = streams ? placed.block().chunk : placed.block().extent[static_cast<std::size_t>(last)];
  return bytes_of(columns, crossing.type).value;
}

/// Returns the bytes of a box's row.
Count box_bytes(const PlacedDiagram& placed, const Crossing& crossing) {
  return box_width(row_bytes(placed, crossing) / placed.column_parts(crossing));
}

/// Returns the level that device memory fills.
LevelId top_cache(const PlacedDiagram& placed) {
  LevelId at = placed.block().level;
  while (at > 0 && placed.machine->levels[static_cast<std::size_t>(at)].parent > 0)
    at = placed.machine->levels[static_cast<std::size_t>(at)].parent;
  return at;
}

double latency_of(const Pipe* pipe) { return pipe != nullptr && pipe->latency ? pipe->latency->value : 0; }

/// Returns the bytes a clock at which a node loads what other blocks read too; 0 if no other block does.
double shared_rate(const PlacedDiagram& placed, const Crossing& crossing) {
  return read_by_others(placed, crossing) ? placed.machine->constant_or("l2_bandwidth_shared_tile", 0) : 0;
}

/// Returns the bytes a clock that each of so many nodes gets from device memory. Blocks start and end in step, so each
/// working node has an equal share of the bandwidth.
double device_rate(const PlacedDiagram& placed, Count nodes) {
  const Machine& machine = *placed.machine;
  const Pipe* pipe = machine.pipe_into(top_cache(placed));
  const Hertz clock = assumed_clock(machine).frequency;
  const double rate = pipe != nullptr ? bytes_per_second(machine, *pipe, clock) : 0;
  return rate > 0 ? rate / clock.value / real(nodes) : INFINITY;
}

/// Returns the clocks by which a chunk from device memory comes later than one from the L2, where nothing else is
/// asked for: a box's, or a load's where the machine has no boxes.
double device_wait(const PlacedDiagram& placed) {
  const Machine& machine = *placed.machine;
  const double box = machine.constant_or("tma_l2_latency_16kib", 0);
  return box > 0 ? std::max(machine.constant_or("tma_device_latency_16kib", 0) - box, 0.0)
                 : latency_of(machine.pipe_into(top_cache(placed)));
}

/// Returns the clocks until a chunk's first bytes arrive from the L2. Beside warps that load a product's operands
/// (mma.sync), bytes that threads ask for come later than a box's.
double first_latency(const PlacedDiagram& placed, const Crossing& crossing) {
  const Machine& machine = *placed.machine;
  if (!comes_like_boxes(placed, crossing)) return machine.constant("cp_async_loaded_latency");
  const double chased = latency_of(machine.pipe_into(placed.block().level)),
               box = machine.constant_or("tma_l2_latency_16kib", 0),
               alone = machine.constant_or("l2_bandwidth_one_sm", 0);
  return box > 0 && alone > 0 ? std::max(box - 16 * 1024 / alone, chased) : chased;
}

/// Returns the share of what blocks load that the L2 has lost, where the kernel's order permutes the grid's axes:
/// blocks that share are then not launched side by side, and nothing keeps them in step. (eq. 13.6) 0 for a packed
/// batch, whose graphs are made of two of its sequences.
double missed_share(const PlacedDiagram& placed) {
  if (!permutes_axes(placed) || !placed.packed.empty()) return 0;
  const double asked = real(transfer_into_blocks(placed).load.value);
  const double again = real(reread_bytes(placed, occupancy(placed).blocks, Pace::apart).value);
  return asked > 0 ? std::min(again / asked, 1.0) : 0;
}

/// Returns the part of device memory's wait that a chunk's copy waits on the mean. Of blocks that read it and ask for
/// themselves the first one waits, of blocks in step two, and whoever reads what the L2 has lost. (eq. 13.6)
double waited_share(const PlacedDiagram& placed, const Crossing& crossing) {
  if (!comes_from_device(*placed.machine, *placed.streamed, *placed.problem)) return 0;
  if (!read_by_others(placed, crossing)) return 1;
  const bool step = in_step(*placed.problem);
  // Boxes are asked for ahead, spread over the time until what was asked for first is there.
  if (crossing.engine == CopyEngine::tma) return step ? placed.machine->constant_or("device_wait_share", 0) : 0;
  const std::vector<AxisId>& axes = placed.axes_of(crossing);
  double readers = 1;
  for (std::size_t a = 0; a < placed.block().extent.size(); ++a) {
    if (std::find(axes.begin(), axes.end(), static_cast<AxisId>(a)) == axes.end())
      readers *= real(ceil_div(placed.problem->sizes[a], std::max(placed.block().extent[a], Count(1))));
  }
  const double first = std::ldexp(step && !permutes_axes(placed) ? 2 : 1, -digits_of_readers(readers));
  return std::min(first + missed_share(placed), 1.0);
}

/// Returns the bytes a clock at which chunks pass into a node, however late they come. Few blocks get more of the L2,
/// but boxes that no other block reads no more than what one node, and each of so many, gets from device memory.
double chunk_rate(const PlacedDiagram& placed, const Crossing& crossing) {
  const Machine& machine = *placed.machine;
  const double own = node_rate(placed, placed.blocks), all = node_rate(placed, machine.compute_nodes()),
               rate = std::max(shared_rate(placed, crossing), own);
  const bool alone = crossing.engine == CopyEngine::tma && !read_by_others(placed, crossing) &&
                     comes_from_device(machine, *placed.streamed, *placed.problem);
  if (!alone || own <= all) return rate;
  const Count blocks = placed.blocks,
              sharing = few_nodes(machine, blocks) > Count(0) ? blocks : nodes_at_work(machine, blocks);
  const double device =
      std::min(machine.constant_or("device_bandwidth_one_sm", INFINITY), device_rate(placed, sharing));
  return std::min(rate, std::max(device, all));
}

/// Returns the clocks until the first bytes of what a block loads once arrive, from device memory (`far`) or the L2,
/// beside the time of the bytes themselves; 0: not known.
double once_latency(const PlacedDiagram& placed, const Crossing& crossing, bool far) {
  const Machine& machine = *placed.machine;
  if (crossing.engine == CopyEngine::tma && far) return machine.constant("tma_device_latency_16kib");
  if (crossing.engine != CopyEngine::tma && crossing.engine != CopyEngine::cp_async) return 0;
  return first_latency(placed, crossing) + (far ? latency_of(machine.pipe_into(top_cache(placed))) : 0);
}

}  // namespace

CopyTime copy_time(const PlacedDiagram& placed, const Crossing& crossing, bool once, double parts) {
  const bool far = once && (crossing.store || comes_from_device(*placed.machine, *placed.streamed, *placed.problem));
  const double passed = once ? node_rate(placed, placed.blocks)
                             : std::max(shared_rate(placed, crossing), node_rate(placed, placed.blocks));
  // An addition reads the array there, too.
  const double near =
      adds(crossing.engine) ? std::min(placed.machine->constant_or("l2_add_bandwidth", INFINITY), passed) : passed;
  const Count nodes = nodes_at_work(*placed.machine, placed.blocks);
  const double rate = far ? std::min(near, device_rate(placed, nodes)) : near,
               moved = passing_bytes(placed, crossing) / parts;
  CopyTime out;
  const double known = crossing.store ? 0
                       : once         ? once_latency(placed, crossing, far)
                                      : chunk_latency(placed, crossing);
  out.latency = known > 0 ? known : latency_of(placed.machine->pipe_into(placed.block().level));
  if (!std::isfinite(rate) || rate <= 0) return out;
  const double pipe = once ? near : std::min(near, chunk_rate(placed, crossing));
  out.clocks = moved / (crossing.store ? rate : pipe);
  out.latency += moved / rate - out.clocks;
  // One thread asks for box after box: how many, whatever they bring, is the pipe's time too.
  if (!crossing.store && crossing.engine == CopyEngine::tma)
    out.clocks = std::max(out.clocks, boxes_clocks(placed, crossing));
  return out;
}

bool comes_like_boxes(const PlacedDiagram& placed, const Crossing& crossing) {
  if (crossing.engine == CopyEngine::tma) return true;
  const auto loads_operands = [](const PlacedOperation& op) {
    return op.tensor && op.instruction != nullptr && !op.instruction->asynchronous;
  };
  return crossing.engine == CopyEngine::cp_async && placed.machine->constant_or("tma_l2_latency_16kib", 0) > 0 &&
         std::none_of(placed.operations.begin(), placed.operations.end(), loads_operands);
}

int digits_of_readers(double readers) { return std::ilogb(std::max(readers, 1.0)); }

bool counts_readers(const PlacedDiagram& placed) {
  return std::any_of(placed.crossings.begin(), placed.crossings.end(), [&](const Crossing& c) {
    return c.into == placed.block().level && c.phase == Phase::loop && !c.store && c.engine != CopyEngine::tma;
  });
}

bool read_by_others(const PlacedDiagram& placed, const Crossing& crossing) {
  const std::vector<AxisId>& axes = placed.axes_of(crossing);
  for (std::size_t a = 0; a < placed.block().groups_of.size(); ++a) {
    const bool has = std::find(axes.begin(), axes.end(), static_cast<AxisId>(a)) != axes.end();
    if (!has && placed.problem->sizes[a] > placed.block().extent[a]) return true;
  }
  return false;
}

double granules_of(const PlacedDiagram& placed, const Crossing& crossing) {
  if (crossing.engine != CopyEngine::tma || placed.axes_of(crossing).empty()) return 1;
  return std::max(static_cast<double>(l2_granule) / real(box_bytes(placed, crossing)), 1.0);
}

double passing_bytes(const PlacedDiagram& placed, const Crossing& crossing) {
  const double bytes = bytes_read(placed, crossing) * granules_of(placed, crossing),
               narrow = placed.machine->constant_or("tma_row_64", 0);
  const bool of_64 = crossing.engine == CopyEngine::tma && !placed.axes_of(crossing).empty() &&
                     box_bytes(placed, crossing) == Count(64);
  return of_64 && narrow > 0 ? bytes * narrow / 64 : bytes;
}

AskedCopy asked_copy(const PlacedDiagram& placed, const Crossing& crossing) {
  const double rate = chunk_rate(placed, crossing);
  if (!std::isfinite(rate)) return {};
  const double alone = std::max(placed.machine->constant("l2_bandwidth_one_sm"), rate);
  const double read = passing_bytes(placed, crossing);
  if (!placed.multicast(crossing)) return {read / rate, read / alone};
  const double delivered = read * real(placed.cluster);
  return {std::max(read / rate, delivered / placed.machine->constant("multicast_delivered_bandwidth")),
          delivered / alone};
}

namespace {

/// Returns the elements of the last block that lie beyond the array: all of a block without rows.
Count beyond_array(const PlacedDiagram& placed, AxisId axis) {
  const auto a = static_cast<std::size_t>(axis);
  const Count beyond = placed.block().groups_of[a] * placed.block().extent[a] - placed.problem->sizes[a];
  return std::min(beyond, placed.block().extent[a]);
}

bool is_boxes_of_loop(const PlacedDiagram& placed, const Crossing& c) {
  return c.into == placed.block().level && !c.store && c.phase == Phase::loop && c.auxiliary < 0 &&
         c.engine == CopyEngine::tma;
}

/// The axis along which most rows of a chunk's boxes lie beyond the array, and their share. Columns outside cost no
/// more than columns inside.
struct Outside {
  AxisId axis = -1;
  double share = 0;
};
Outside rows_outside(const PlacedDiagram& placed, const Crossing& crossing) {
  const std::vector<AxisId>& axes = placed.axes_of(crossing);
  Outside out;
  for (const AxisId axis : axes) {
    if (axis == axes.back() || placed.streamed->stream == axis) continue;
    const double share = real(beyond_array(placed, axis)) / real(placed.block().extent[static_cast<std::size_t>(axis)]);
    if (share > out.share) out = {axis, share};
  }
  return out;
}

}  // namespace

EdgeCopies edge_copies(const PlacedDiagram& placed) {
  const auto outside = [&](const Crossing& c) {
    return is_boxes_of_loop(placed, c) && rows_outside(placed, c).share > 0;
  };
  const double zeros = std::any_of(placed.crossings.begin(), placed.crossings.end(), outside)
                           ? placed.machine->constant("tma_row_outside")
                           : 0;
  if (zeros <= 0) return {};
  EdgeCopies out;
  for (const Crossing& c : placed.crossings) {
    if (!is_boxes_of_loop(placed, c)) continue;
    const double inside = asked_copy(placed, c).clocks, rows = bytes_read(placed, c) / real(box_bytes(placed, c));
    const Outside edge = rows_outside(placed, c);
    out.clocks += inside + edge.share * std::max(rows * zeros - inside, 0.0);
    if (edge.axis < 0) continue;
    double blocks = 1;
    for (std::size_t a = 0; a < placed.block().groups_of.size(); ++a) {
      if (static_cast<AxisId>(a) != edge.axis) blocks *= real(placed.block().groups_of[a]);
    }
    out.blocks += blocks;
  }
  return out;
}

bool comes_from_device(const Machine& machine, const Streamed& streamed, const Problem& problem) {
  const Diagram& diagram = streamed.diagram;
  const bool hides = streamed.skips && problem.mask.kind != Mask::Kind::none && problem.packing.sequences.empty();
  // Rows and columns that the mask hides altogether are not touched.
  const auto size_of = [&](AxisId axis) {
    const std::int64_t size = problem.sizes[at(axis)].get();
    if (!hides) return size;
    const auto [row_axis, column_axis] = *streamed.skips;
    const std::int64_t rows = problem.sizes[at(row_axis)].get(), columns = problem.sizes[at(column_axis)].get();
    if (axis == column_axis) return visible(problem.mask, 0, rows, rows, columns).size();
    return axis == row_axis ? visible_rows(problem.mask, 0, columns, rows, columns).size() : size;
  };
  double bytes = 0;
  for (const std::vector<ArrayId>* arrays : {&diagram.inputs, &diagram.outputs}) {
    for (const ArrayId array : *arrays) {
      double values = 1;
      for (const AxisId axis : diagram.arrays[at(array)].axes) values *= static_cast<double>(size_of(axis));
      bytes += values * bytes_per_value(problem.dtype);
    }
  }
  return bytes > machine.constant_or("l2_working_set", 0);
}

bool in_step(const Problem& problem) {
  const auto& sequences = problem.packing.sequences;
  return problem.mask.kind == Mask::Kind::none &&
         std::adjacent_find(sequences.begin(), sequences.end(), std::not_equal_to<>()) == sequences.end();
}

namespace {

double neighbours(const PlacedDiagram& placed) {
  return in_step(*placed.problem) ? placed.machine->constant_or("l2_neighbours", 0) : 0;
}

/// Returns the number of blocks whose requests for a line may be merged.
double side_by_side(const PlacedDiagram& placed) { return std::min(neighbours(placed), real(placed.blocks)); }

}  // namespace

UnsharedFraction unshared_fraction_in_any_order(const PlacedDiagram& placed) {
  const double blocks = side_by_side(placed);
  if (blocks <= 1) return {};
  if (streams_crossed(placed) && comes_from_device(*placed.machine, *placed.streamed, *placed.problem)) return {};
  if (always_rows_first(*placed.mapping)) return {unshared_in_order(placed, blocks), false};
  return {least_unshared_fraction(placed), true};
}

double unshared_fraction(const PlacedDiagram& placed) {
  const UnsharedFraction all = unshared_fraction_in_any_order(placed);
  return all.by_order ? unshared_in_order(placed, side_by_side(placed)) : all.least;
}

double least_unshared_fraction(const PlacedDiagram& placed) { return 1 / std::max(neighbours(placed), 1.0); }

bool waits_for_device(const Machine& machine, const Streamed& streamed, const Problem& problem) {
  return in_step(problem) && comes_from_device(machine, streamed, problem);
}

double chunk_wait(const PlacedDiagram& placed, const Crossing& crossing) {
  return waited_share(placed, crossing) * device_wait(placed);
}

double chunk_latency(const PlacedDiagram& placed, const Crossing& crossing) {
  return first_latency(placed, crossing) + chunk_wait(placed, crossing);
}

double first_touch_latency(const PlacedDiagram& placed) {
  const Machine& machine = *placed.machine;
  if (placed.problem->mask.kind == Mask::Kind::none || !placed.across || !walks_backward(placed)) return 0;
  if (!comes_from_device(machine, *placed.streamed, *placed.problem)) return 0;
  const double rows = real(placed.block().extent[static_cast<std::size_t>(*placed.across)]),
               keys = real(placed.block().chunk);
  const double device =
      machine.constant_or("tma_device_latency_16kib", 0) - machine.constant_or("tma_l2_latency_16kib", 0);
  return std::max(device, 0.0) * std::min(rows / keys, 1.0);
}

namespace {

/// Returns the factor by which the asking thread is slowed, since it shares its scheduler with a warp of every other
/// warpgroup: 1 up to the number of warps in the measurement of `tma_box`, and more with each further warp.
double slowed(const PlacedDiagram& placed) {
  const Machine& machine = *placed.machine;
  const double box = machine.constant_or("tma_box", 0), beside = machine.constant_or("tma_box_beside", 0);
  const double warps =
      real(placed.threads) / std::max(real(machine.limits.warp_size) * real(machine.limits.schedulers), 1.0);
  return box > 0 ? 1 + beside / box * std::max(warps - machine.constant_or("tma_box_warps", 0), 0.0) : 1;
}

}  // namespace

double boxes_clocks(const PlacedDiagram& placed, const Crossing& crossing) {
  return placed.machine->constant(placed.multicast(crossing) ? "tma_box_multicast" : "tma_box") *
         real(row_bytes(placed, crossing) / box_bytes(placed, crossing)) * slowed(placed);
}

double asking_clocks(const PlacedDiagram& placed) { return placed.machine->constant_or("tma_ask", 0) * slowed(placed); }

double meeting_clocks(const PlacedDiagram& placed) {
  const Machine& machine = *placed.machine;
  return placed.cluster > Count(1)
             ? std::max(machine.constant_or("tma_ask_cluster", 0) - machine.constant_or("tma_ask", 0), 0.0)
             : 0;
}

double cluster_latency(const Machine& machine) {
  for (const Pipe& pipe : machine.pipes) {
    const bool cluster = machine.levels[static_cast<std::size_t>(pipe.from)].kind == LevelKind::cross_transfer;
    if (cluster && pipe.latency) return pipe.latency->value;
  }
  return 0;
}

}  // namespace napkin::internal
