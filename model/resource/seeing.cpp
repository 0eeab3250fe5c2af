#include "model/resource/seeing.hpp"

#include <algorithm>

namespace napkin {

SeeingBlocks seeing_blocks(const PlacedDiagram& placed, Count extent, Count part) {
  const AxisId stream = *placed.streamed->stream;
  const Mask& mask = placed.problem->mask;
  const bool columns_stream = (*placed.streamed->skips)[1] == stream;
  const std::int64_t along = placed.problem->sizes[at(stream)].get(),
                     across = placed.problem->sizes[at(*placed.across)].get(), step = part.get(), group = extent.get();
  SeeingBlocks out;
  for (std::int64_t first = 0; first < along; first += step) {
    const std::int64_t last = std::min(first + step, along);
    const Span seeing =
        columns_stream ? visible_rows(mask, first, last, across, along) : visible(mask, first, last, along, across);
    if (seeing.size() == 0) continue;
    const std::int64_t from = seeing.first / group, to = (seeing.last - 1) / group + 1;
    out.groups += Count(to - from);
    out.members += Count(std::min(to * group, across) - from * group);
  }
  return out;
}

}  // namespace napkin
