#include "model/resource/reuse.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "model/resource/block_touches.hpp"
#include "model/resource/order.hpp"
#include "model/resource/resources.hpp"

namespace napkin::internal {

L2Model l2_model(const Machine& machine) {
  L2Model out;
  for (std::size_t l = 1; l < machine.levels.size(); ++l) {
    const Level& level = machine.levels[l];
    const bool one = machine.nodes(static_cast<LevelId>(l)) == Count(1);
    if (level.parent == 0 && level.kind == LevelKind::cache && one && level.capacity.known())
      out.bytes = level.capacity.best().value;
  }
  out.partitions = std::max(static_cast<int>(machine.constant_or("l2_partitions", 0)), 1);
  out.ways = static_cast<int>(machine.constant_or("l2_ways", 0));
  out.bytes /= out.partitions;
  return out;
}

double chance_gone(const L2Model& l2, double own_bytes, double other_bytes) {
  if (l2.bytes <= 0) return 0;
  if (l2.ways <= 0) return own_bytes + other_bytes > l2.bytes ? 1 : 0;
  const double mean = l2.ways * other_bytes / l2.bytes;
  double term = std::exp(-mean), kept = term;
  for (int others = 1; others < l2.ways; ++others) kept += term *= mean / others;
  return std::max(1 - kept, 0.0);
}

Count blocks_at_a_time(const PlacedDiagram& placed, Count blocks_a_node) {
  const Count cluster = std::max(placed.cluster, Count(1));
  const Count nodes = std::max(placed.machine->compute_nodes() / cluster * cluster, Count(1));
  return nodes * std::max(blocks_a_node, Count(1));
}

namespace {

/// Returns the bytes that a simulated launch reads again.
Count acted_out(const PlacedDiagram& placed, Count blocks_a_node, Pace pace) {
  const L2Model l2 = l2_model(*placed.machine);
  if (l2.bytes <= 0 || placed.blocks <= Count(1)) return 0;
  return Count(std::llround(reread(placed, l2, blocks_at_a_time(placed, blocks_a_node), std::nullopt, pace).bytes));
}

/// Limits the bytes that were read again to those that were asked for again: the first may be extrapolated, the second
/// are exact.
Bytes at_most_asked(const PlacedDiagram& placed, Count again) {
  if (again == Count(0)) return {};
  const std::vector<LevelTransfer> moved = transfers(placed);
  if (moved.size() < 2) return {};
  const Count asked = std::max(moved[1].load.value, moved[0].load.value);
  return Bytes(std::min(again, asked - moved[0].load.value));
}

}  // namespace

Bytes reread_bytes(const PlacedDiagram& placed, Count blocks_a_node, Pace pace) {
  return at_most_asked(placed, acted_out(placed, blocks_a_node, pace));
}

double KnownRereads::of(const PlacedDiagram& placed, Count blocks_a_node, const Negligible& negligible) {
  const auto order = placed.mapping->order_knob();
  std::vector<std::int64_t> key{static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(placed.variant.get())),
                                order ? placed.tile.values[static_cast<std::size_t>(*order)] : 0, placed.cluster.get(),
                                blocks_a_node.get(), walks_backward(placed) ? 1 : 0};
  for (const Count extent : placed.block().extent) key.push_back(extent.get());
  key.push_back(segment_of(placed));  // the pieces depend on nothing else of the chunk
  std::optional<Count>& acted = acted_[key];
  key.back() = placed.block().chunk.get();
  Known& known = known_[std::move(key)];
  if (known.exact || negligible(known.bytes)) return known.bytes;
  known.bytes = reread_at_most(placed, blocks_a_node);  // simulating the launch takes longer than everything else
  if (negligible(known.bytes)) return known.bytes;
  if (left_ == 0) return std::numeric_limits<double>::infinity();
  --left_;
  if (!acted) acted = acted_out(placed, blocks_a_node, Pace::together);
  known = {real(at_most_asked(placed, *acted).value), true};
  return known.bytes;
}

}  // namespace napkin::internal
