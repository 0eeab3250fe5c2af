#include "model/resource/seeing.hpp"

#include <algorithm>

#include "model/diagram/visits.hpp"

namespace napkin::internal {

SeeingBlocks seeing_blocks(const PlacedDiagram& placed, Count extent, Count part) {
  const AxisId stream = *placed.streamed->stream;
  const Mask& mask = placed.problem->mask;
  const bool columns_stream = (*placed.streamed->skips)[1] == stream;
  const std::int64_t along = placed.problem->sizes[at(stream)].get(),
                     across = placed.problem->sizes[at(*placed.across)].get();
  if (along == 0 || across == 0) return {};
  const std::int64_t group = std::min(extent.get(), across), step = std::min(part.get(), along),
                     last = (across - 1) / group * group;
  const Span seen =
      columns_stream ? visible(mask, last, across, across, along) : visible_rows(mask, last, across, along, across);
  const std::int64_t parts_of_last = seen.size() == 0 ? 0 : (seen.last - 1) / step - seen.first / step + 1;
  SeeingBlocks out;
  out.groups = columns_stream ? visits(mask, across, along, group, step).chunks
                              : visits_of_rows(mask, along, across, group, step).chunks;
  out.members = out.groups * Count(group) - Count(parts_of_last) * Count(last + group - across);
  return out;
}

}  // namespace napkin::internal
