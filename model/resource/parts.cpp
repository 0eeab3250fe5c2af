#include "model/resource/parts.hpp"

#include <algorithm>

namespace napkin {
namespace {

/// Returns the launched blocks, in whole clusters.
Count launched(const PlacedDiagram& placed) {
  Count groups = 1;
  const PlacedLevel* cluster = placed.block_level > 0 ? &placed.levels[at(placed.block_level - 1)] : nullptr;
  if (cluster == nullptr || placed.cluster <= Count(1)) cluster = &placed.block();
  for (const Count axis : cluster->groups_of) groups *= axis;
  return cluster == &placed.block() ? groups : groups * placed.cluster;
}

}  // namespace

PartsMemory parts_memory(const PlacedDiagram& placed) {
  PartsMemory out{launched(placed), placed.parts(), {}};
  out.tiles = ceil_div(out.tiles, out.parts);
  if (out.parts <= Count(1) || !CombineMapping::keeps_apart(placed.combine->by)) return {out.tiles, 1, {}};
  for (const Combine& combine : placed.streamed->combines) {
    const auto same = [&](const OutputParts& there) { return there.output == combine.array; };
    if (std::any_of(out.outputs.begin(), out.outputs.end(), same)) continue;  // of another split axis
    OutputParts parts{combine.array, out.parts, 1};
    for (const AxisId axis : placed.streamed->diagram.arrays[at(combine.array)].axes) {
      parts.whole *= placed.problem->sizes[at(axis)];
      parts.tile *= placed.block().extent[at(axis)];
    }
    out.outputs.push_back(parts);
  }
  return out;
}

}  // namespace napkin
