#include "model/resource/parts.hpp"

#include <algorithm>

namespace napkin::internal {

PartsMemory parts_memory(const PlacedDiagram& placed) {
  PartsMemory out{1, placed.parts(), {}};
  out.tiles = ceil_div(placed.blocks, out.parts);
  if (out.parts <= Count(1) || !CombineMapping::keeps_apart(placed.combine->by)) return {out.tiles, 1, {}};
  for (const Combine& combine : placed.streamed->combines) {
    const auto same = [&](const OutputParts& there) { return there.output == combine.array; };
    // parts along another split axis: already listed
    if (std::any_of(out.outputs.begin(), out.outputs.end(), same)) continue;
    OutputParts parts{combine.array, out.parts, 1};
    for (const AxisId axis : placed.streamed->diagram.arrays[at(combine.array)].axes) {
      parts.whole *= placed.problem->sizes[at(axis)];
      parts.tile *= placed.block().extent[at(axis)];
    }
    out.outputs.push_back(parts);
  }
  return out;
}

}  // namespace napkin::internal
