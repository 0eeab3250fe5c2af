#include "model/clock/asked_copy.hpp"

#include <algorithm>
#include <cmath>

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

AskedCopy asked_copy(const PlacedDiagram& placed, const Crossing& crossing) {
  const Pipe* pipe = placed.machine->pipe_into(placed.block().level);
  if (pipe == nullptr || !pipe->per_node_clock.known()) return {};
  const double distinct = pipe->per_node_clock.best().value, all = placed.machine->constant("l2_bandwidth_shared_tile");
  double shared = placed.machine->constant("l2_bandwidth_tiles");
  if (shared <= 0) shared = std::sqrt(distinct * std::max(all, distinct));
  const double rate = read_by_others(placed, crossing) ? std::max(shared, distinct) : distinct;
  const double read = bytes_read(placed, crossing) * granules_of(placed, crossing);
  const double delivered = placed.multicast(crossing) ? read * real(placed.cluster) : read;
  return {read / rate, std::max(delivered / distinct - read / rate, 0.0)};
}

double boxes_clocks(const PlacedDiagram& placed, const Crossing& crossing) {
  const Count row = row_bytes(placed, crossing);
  return placed.machine->constant(placed.multicast(crossing) ? "tma_box_multicast" : "tma_box") * real(row / box_width(row));
}

double asking_clocks(const PlacedDiagram& placed) {
  return placed.machine->constant(placed.cluster > Count(1) ? "tma_ask_cluster" : "tma_ask");
}

double cluster_latency(const Machine& machine) {
  for (const Pipe& pipe : machine.pipes) {
    const bool cluster = machine.levels[static_cast<std::size_t>(pipe.from)].kind == LevelKind::cross_transfer;
    if (cluster && pipe.latency) return pipe.latency->value;
  }
  return 0;
}

}  // namespace napkin
