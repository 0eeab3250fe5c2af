#include "model/resource/block_ids.hpp"

#include <algorithm>

#include "model/diagram/visits.hpp"

namespace napkin::internal {

bool has_unequal_blocks(const PlacedDiagram& placed) {
  const Streamed& streamed = *placed.streamed;
  if (!placed.across || !streamed.skips || !streamed.stream || placed.problem->mask.kind == Mask::Kind::none)
    return false;
  return !(placed.block().groups_of[static_cast<std::size_t>(*streamed.stream)] > Count(1));
}

std::vector<EqualBlocks> block_runs(const PlacedDiagram& placed) {
  if (!has_unequal_blocks(placed)) return {};
  const Streamed& streamed = *placed.streamed;
  const auto size = [&](AxisId axis) { return placed.problem->sizes[static_cast<std::size_t>(axis)].get(); };
  const auto [row_axis, column_axis] = *streamed.skips;
  const std::int64_t members = size(*placed.across), group = placed.walk.across.get(),
                     chunk = placed.block().chunk.get(), blocks = (members + group - 1) / group,
                     together = placed.walk.together.get();
  const Mask& mask = placed.problem->mask;
  const std::int64_t rows = size(row_axis), columns = size(column_axis);
  const bool by_rows = *placed.across == row_axis;
  const VisibleSpans spans(mask, rows, columns, !by_rows);
  const auto chunks = [&](std::int64_t block) {
    const std::int64_t first = block / together * together * group;
    const Span seen = spans(first, std::min(first + together * group, members));
    return seen.size() > 0 ? Span{seen.first / chunk, (seen.last + chunk - 1) / chunk} : Span{};
  };
  const Span seeing = by_rows ? visible_rows(mask, 0, columns, rows, columns) : visible(mask, 0, rows, rows, columns);
  const std::int64_t set = group * together, begin = seeing.first / set * together,
                     end = std::min((seeing.last + set - 1) / set * together, blocks);
  std::vector<EqualBlocks> out;
  const auto add = [&](std::int64_t iterations, std::int64_t count) {
    if (count <= 0) return;
    if (out.empty() || out.back().iterations != static_cast<double>(iterations))
      out.push_back({static_cast<double>(iterations), count});
    else
      out.back().blocks += count;
  };
  add(0, std::min(begin, blocks));
  for (std::int64_t k = begin; k < end;) {
    // The range of chunks that a block sees never moves back from one block to the next, so that all blocks between two
    // with the same range have that range too.
    const Span here = chunks(k);
    const auto visits_these = [&](std::int64_t block) {
      const Span there = chunks(block);
      return there.first == here.first && there.last == here.last;
    };
    std::int64_t known = 1, step = 1;
    while (k + known + step <= end && visits_these(k + known + step - 1)) known += step, step *= 2;
    while ((step /= 2) > 0) {
      if (k + known + step <= end && visits_these(k + known + step - 1)) known += step;
    }
    add(here.size(), known);
    k += known;
  }
  add(0, blocks - std::max(end, begin));
  return out;
}

BlockIds::BlockIds(const PlacedDiagram& placed) {
  Count id, block;  // Count checks for overflow: sizes may be as large as a question's
  const auto add = [&](Count iterations, Count blocks) {
    if (iterations > Count(0)) runs_.push_back({id.get(), block.get(), iterations.get()});
    id += iterations * blocks;
    block += blocks;
  };
  for (const EqualBlocks& run : block_runs(placed))
    add(Count(static_cast<std::int64_t>(run.iterations)), Count(run.blocks));
  if (block == Count(0)) add(std::max(placed.walk.all_chunks, Count(1)), placed.blocks);
  ids_of_plane_ = id.get();
  blocks_of_plane_ = std::max(block, Count(1)).get();
  size_ = (id * (placed.blocks / Count(blocks_of_plane_))).get();
}

BlockIds::Place BlockIds::at(std::int64_t id) const {
  const std::int64_t plane = id / ids_of_plane_, here = id % ids_of_plane_;
  const auto behind = std::upper_bound(runs_.begin(), runs_.end(), here,
                                       [](std::int64_t value, const Run& run) { return value < run.id; });
  const Run& run = *std::prev(behind);
  const std::int64_t beyond = here - run.id;
  return {plane * blocks_of_plane_ + run.block + beyond / run.iterations, beyond % run.iterations};
}

}  // namespace napkin::internal
