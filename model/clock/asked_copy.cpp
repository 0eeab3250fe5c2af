#include "model/clock/asked_copy.hpp"

#include <algorithm>
#include <functional>

#include "model/clock/load.hpp"
#include "model/resource/boxes.hpp"

namespace napkin {
namespace {

/// Bytes of a row of what a block's copy brings.
Count row_bytes(const PlacedDiagram& placed, const Crossing& crossing) {
  const AxisId last = placed.axes_of(crossing).back();
  const bool streams = placed.streamed->stream && *placed.streamed->stream == last;
  const Count columns = streams ? placed.block().chunk : placed.block().extent[static_cast<std::size_t>(last)];
  return bytes_of(columns, crossing.type).value;
}

}  // namespace

bool read_by_others(const PlacedDiagram& placed, const Crossing& crossing) {
  const std::vector<AxisId>& axes = placed.axes_of(crossing);
  for (std::size_t a = 0; a < placed.block().groups_of.size(); ++a) {
    const bool has = std::find(axes.begin(), axes.end(), static_cast<AxisId>(a)) != axes.end();
    if (!has && placed.block().groups_of[a] > Count(1)) return true;
  }
  return false;
}

double granules_of(const PlacedDiagram& placed, const Crossing& crossing) {
  if (crossing.engine != CopyEngine::tma || placed.axes_of(crossing).empty()) return 1;
  return std::max(static_cast<double>(l2_granule) / real(box_width(row_bytes(placed, crossing))), 1.0);
}

double passing_bytes(const PlacedDiagram& placed, const Crossing& crossing) {
  const double bytes = bytes_read(placed, crossing) * granules_of(placed, crossing), narrow = placed.machine->constant("tma_row_64");
  const bool of_64 = crossing.engine == CopyEngine::tma && !placed.axes_of(crossing).empty() && box_width(row_bytes(placed, crossing)) == Count(64);
  return of_64 && narrow > 0 ? bytes * narrow / 64 : bytes;
}

AskedCopy asked_copy(const PlacedDiagram& placed, const Crossing& crossing) {
  const Pipe* pipe = placed.machine->pipe_into(placed.block().level);
  if (pipe == nullptr || !pipe->per_node_clock.known()) return {};
  const double distinct = pipe->per_node_clock.best().value, shared = placed.machine->constant("l2_bandwidth_shared_tile");
  const double rate = read_by_others(placed, crossing) ? std::max(shared, distinct) : distinct;
  const double alone = std::max(placed.machine->constant("l2_bandwidth_one_sm"), rate);
  const double read = passing_bytes(placed, crossing);
  if (!placed.multicast(crossing)) return {read / rate, read / alone};
  const double delivered = read * real(placed.cluster), multicast = placed.machine->constant("multicast_delivered_bandwidth");
  return {std::max(read / rate, multicast > 0 ? delivered / multicast : 0), delivered / alone};
}

bool comes_from_device(const Machine& machine, const Streamed& streamed, const Problem& problem) {
  const Diagram& diagram = streamed.diagram;
  double bytes = 0;
  for (const std::vector<ArrayId>* arrays : {&diagram.inputs, &diagram.outputs}) {
    for (const ArrayId array : *arrays) {
      double values = 1;
      for (const AxisId axis : diagram.arrays[at(array)].axes) values *= real(problem.sizes[at(axis)]);
      bytes += values * bytes_per_value(problem.dtype);
    }
  }
  return bytes > machine.constant("l2_working_set");
}

bool waits_for_device(const Machine& machine, const Streamed& streamed, const Problem& problem) {
  const auto& sequences = problem.packing.sequences;
  const bool alike = std::adjacent_find(sequences.begin(), sequences.end(), std::not_equal_to<>()) == sequences.end();
  return problem.mask.kind == Mask::Kind::none && alike && comes_from_device(machine, streamed, problem);
}

double chunk_latency(const PlacedDiagram& placed) {
  const Machine& machine = *placed.machine;
  const Pipe* pipe = machine.pipe_into(placed.block().level);
  const double chased = pipe != nullptr && pipe->latency ? pipe->latency->value : 0;
  const double box = machine.constant("tma_l2_latency_16kib"), alone = machine.constant("l2_bandwidth_one_sm");
  const double first = box > 0 && alone > 0 ? std::max(box - 16 * 1024 / alone, chased) : chased;
  if (pipe == nullptr || !waits_for_device(machine, *placed.streamed, *placed.problem)) return first;
  // Asks are spread over the time until what was asked for first is there: half of that on the mean.
  return first + std::max(machine.constant("tma_device_latency_16kib") - box, 0.0) / 2;
}

double boxes_clocks(const PlacedDiagram& placed, const Crossing& crossing) {
  const Count row = row_bytes(placed, crossing);
  return placed.machine->constant(placed.multicast(crossing) ? "tma_box_multicast" : "tma_box") * real(row / box_width(row));
}

double asking_clocks(const PlacedDiagram& placed) { return placed.machine->constant("tma_ask"); }

double meeting_clocks(const PlacedDiagram& placed) {
  const Machine& machine = *placed.machine;
  return placed.cluster > Count(1) ? std::max(machine.constant("tma_ask_cluster") - machine.constant("tma_ask"), 0.0) : 0;
}

double cluster_latency(const Machine& machine) {
  for (const Pipe& pipe : machine.pipes) {
    const bool cluster = machine.levels[static_cast<std::size_t>(pipe.from)].kind == LevelKind::cross_transfer;
    if (cluster && pipe.latency) return pipe.latency->value;
  }
  return 0;
}

}  // namespace napkin
