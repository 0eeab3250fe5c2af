#include "model/clock/roofline/combine_cost.hpp"

#include <algorithm>
#include <cmath>

#include "model/clock/roofline/node_rate.hpp"
#include "model/mapping/compile/ways.hpp"
#include "model/resource/order.hpp"
#include "model/resource/resources.hpp"

namespace napkin::internal {
namespace {

using By = CombineMapping::By;

double real(Bytes bytes) { return real(bytes.value); }

/// Returns the pipes between the blocks and the level where their parts meet: the cluster's pipe, or the pipe of each
/// level in between.
std::vector<const Pipe*> way(const PlacedDiagram& placed) {
  if (const Pipe* cluster = exchange_pipe(placed)) return {cluster};
  std::vector<const Pipe*> pipes;
  for (int i = placed.combine->at + 1; i <= placed.block_level; ++i) {
    const LevelId id = placed.levels[static_cast<std::size_t>(i)].level;
    const bool beside = placed.machine->levels[static_cast<std::size_t>(id)].kind == LevelKind::cross_transfer;
    if (const Pipe* pipe = placed.machine->pipe_into(id); pipe != nullptr && !beside) pipes.push_back(pipe);
  }
  return pipes;
}

/// Returns the clocks of these bytes over the narrowest of the pipes, all nodes together.
double clocks_over(const PlacedDiagram& placed, const std::vector<const Pipe*>& pipes, double bytes, Hertz clock) {
  double longest = 0;
  for (const Pipe* pipe : pipes) {
    const double rate = bytes_per_second(*placed.machine, *pipe, clock, placed.cluster);
    if (rate > 0) longest = std::max(longest, bytes / rate * clock.value);
  }
  return longest;
}

}  // namespace

const Pipe* exchange_pipe(const PlacedDiagram& placed) {
  if (!placed.combine || placed.combine->at < 0) return nullptr;
  const LevelId id = placed.levels[static_cast<std::size_t>(placed.combine->at)].level;
  const bool cluster = placed.machine->levels[static_cast<std::size_t>(id)].kind == LevelKind::cross_transfer;
  return cluster ? placed.machine->pipe_into(id) : nullptr;
}

namespace {

/// Returns the cost of cut tiles: the node with a tile's end waits for the part stored last, and loads it. Nodes end at
/// about the same time.
Synchronisation of_cut_tiles(const PlacedDiagram& placed, Hertz clock) {
  Synchronisation out;
  const Pipe* pipe = placed.machine->pipe_into(placed.block().level);
  if (pipe == nullptr) return out;
  out.known = pipe->latency.has_value();
  out.steps = 1;
  out.clocks =
      (pipe->latency ? 2 * pipe->latency->value : 0) + clocks_over(placed, {pipe}, 2 * real(cut_bytes(placed)), clock);
  return out;
}

/// Returns the cost of last blocks: each block waits for its store and its number; a result's last block reads all
/// parts, at a node's rate while other results' last blocks read too, and stores the result. (eq. 19.4)
Synchronisation of_last_blocks(const PlacedDiagram& placed, const CombineMoved& moved) {
  Synchronisation out;
  const Pipe* pipe = placed.machine->pipe_into(placed.block().level);
  if (pipe == nullptr) return out;
  out.known = pipe->latency.has_value();
  const double latency = pipe->latency ? pipe->latency->value : 0;
  const Count nodes = std::max(placed.machine->compute_nodes(), Count(1)), results = placed.blocks / moved.parts;
  out.steps = ceil_div(results, nodes);
  const double rate = node_rate(placed, results), each = real(moved.loaded + moved.whole) / real(results);
  out.clocks = real(ceil_div(placed.blocks, nodes)) * 2 * latency + real(out.steps) * latency;
  if (std::isfinite(rate) && rate > 0) out.clocks += real(out.steps) * each / rate;
  return out;
}

}  // namespace

Synchronisation synchronisation(const PlacedDiagram& placed, Hertz clock) {
  Synchronisation out;
  if (cut_tiles(placed) > Count(0) && !goes_ways(placed)) return of_cut_tiles(placed, clock);  // cores add theirs
  const auto moved = combine_moved(placed);
  if (!moved || placed.combine->by == By::adds) return out;
  if (CombineMapping::keeps_apart(placed.combine->by) && moved->parts <= Count(1)) return out;  // each part is a result
  if (placed.combine->by == By::last) return of_last_blocks(placed, *moved);
  const std::vector<const Pipe*> pipes = way(placed);
  double latency = 0;
  for (const Pipe* pipe : pipes) {
    out.known = out.known && pipe->latency;
    latency += pipe->latency ? pipe->latency->value : 0;
  }
  out.steps = placed.combine->steps;
  switch (placed.combine->by) {
    case By::turns: {
      const double nodes = std::max(real(placed.machine->compute_nodes()), 1.0);
      const double block = real(moved->stored + moved->loaded) / std::max(real(placed.blocks), 1.0);
      out.steps = moved->parts;
      out.clocks = real(out.steps) * (2 * latency + clocks_over(placed, pipes, block * nodes, clock));
      break;
    }
    case By::barriers: out.clocks = real(out.steps) * 2 * latency; break;
    default: {
      out.launch = Seconds(placed.machine->constant_or("launch_overhead", 0));
      out.clocks = latency + clocks_over(placed, pipes, real(moved->loaded + moved->whole), clock);
    }
  }
  return out;
}

}  // namespace napkin::internal
