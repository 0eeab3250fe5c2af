// The chunks of the streamed axis that the groups of a level visit. The first chunk begins where the block's part of
// the axis begins.
#include <algorithm>
#include <numeric>

#include "model/mapping/placed.hpp"

namespace napkin::internal {
namespace {

/// The mask's plane of a question: the streamed axis, and the axis across.
struct Plane {
  const Mask& mask;
  std::int64_t along, across;
  bool by_columns;  // true if the columns stream

  Plane(const PlacedDiagram& placed, AxisId stream)
      : mask(placed.problem->mask),
        along(placed.problem->sizes[at(stream)].get()),
        across(placed.problem->sizes[at(*placed.across)].get()),
        by_columns((*placed.streamed->skips)[1] == stream) {}
  [[nodiscard]] Span seen(std::int64_t first, std::int64_t last) const {
    return by_columns ? visible(mask, first, last, across, along) : visible_rows(mask, first, last, along, across);
  }
  /// Returns the members of the axis across that see any element.
  [[nodiscard]] Span seeing() const {
    return by_columns ? visible_rows(mask, 0, along, across, along) : visible(mask, 0, along, along, across);
  }
};

void walk_masked(const Plane& plane, Walk& w, std::int64_t chunk) {
  const std::int64_t group = w.across.get(), first = (plane.across - 1) / group * group;
  const Span seen = plane.seen(first, plane.across);
  w.last_chunks = w.last_columns = 0;
  if (seen.size() > 0) {
    const std::int64_t begin = seen.first / chunk, end = (seen.last - 1) / chunk + 1;
    w.last_chunks = end - begin;
    w.last_columns = (end > plane.along / chunk ? plane.along : end * chunk) - begin * chunk;
  }
  if (first == 0) {
    w.total = {1, w.last_chunks, w.last_columns, w.last_chunks};
  } else {
    w.total = plane.by_columns ? visits(plane.mask, plane.across, plane.along, group, chunk)
                               : visits_of_rows(plane.mask, plane.along, plane.across, group, chunk);
  }
}

/// Counts the visits of groups if w.together adjacent ones all visit the chunks that any of them sees; the last ones
/// may be fewer.
void walk_masked_together(const Plane& plane, Walk& w, std::int64_t chunk) {
  Walk sets = w;
  sets.across = w.across * w.together;
  walk_masked(plane, sets, chunk);
  const Count groups = ceil_div(Count(plane.across), w.across), missing = sets.total.row_groups * w.together - groups;
  w.last_chunks = sets.last_chunks, w.last_columns = sets.last_columns;
  w.total = {groups, sets.total.chunks * w.together - missing * sets.last_chunks,
             sets.total.columns * w.together - missing * sets.last_columns, sets.total.longest};
}

/// The search for the most chunks of a part that any group visits. A group's chunks [begin, end) cover whole parts, or
/// lie in two.
class LongestInPart {
 public:
  LongestInPart(const Plane& plane, std::int64_t group, std::int64_t chunk, std::int64_t part)
      : plane_(plane), group_(group), chunk_(chunk), part_(part / chunk) {}

  /// Finds the most chunks that a group visits within a part; no group visits more than `most` in all. Groups cut by
  /// the array's begin or end visit most if they are cut least; the visits of groups in between repeat with the parts,
  /// shifted by a group.
  [[nodiscard]] std::int64_t find(std::int64_t most) {
    const Span seeing = plane_.seeing();
    most = std::min(most, part_);
    if (seeing.size() <= 0) return 0;
    const std::int64_t first = seeing.first / group_, last = (seeing.last - 1) / group_;
    const std::int64_t cut = first_where(first, last, [&](std::int64_t i) { return seen(i).first > 0; }),
                       ends = first_where(cut, last, [&](std::int64_t i) { return seen(i).last >= plane_.along; });
    const std::int64_t repeats = part_ * chunk_ / std::gcd(group_, part_ * chunk_);
    for (const std::int64_t i : {first, std::max(cut - 1, first), cut, ends, last}) look(i);
    for (std::int64_t i = cut; i < std::min(ends, cut + repeats) && longest_ < most; ++i) look(i);
    return longest_;
  }

 private:
  [[nodiscard]] Span seen(std::int64_t i) const {
    return plane_.seen(i * group_, group_ < plane_.across - i * group_ ? (i + 1) * group_ : plane_.across);
  }
  void look(std::int64_t i) {
    const Span span = seen(i);
    if (span.size() <= 0) return;
    const std::int64_t begin = span.first / chunk_, end = (span.last - 1) / chunk_ + 1;
    const std::int64_t in_first = std::min(end - begin, part_ - begin % part_);
    longest_ = std::max({longest_, in_first, std::min(end - begin - in_first, part_)});
  }
  /// Returns the first group from `from` to `last` for which `holds` is true; it must be true for all later groups.
  template <class Holds>
  static std::int64_t first_where(std::int64_t from, std::int64_t last, const Holds& holds) {
    while (from < last) {
      const std::int64_t middle = from + (last - from) / 2;
      holds(middle) ? last = middle : from = middle + 1;
    }
    return last;
  }

  const Plane& plane_;
  std::int64_t group_, chunk_, part_;  // chunks of a part
  std::int64_t longest_ = 0;
};

/// Counts a split streamed axis whose parts are whole chunks: parts cut no chunk, but limit the longest walk.
void walk_masked_parts(const Plane& plane, Walk& w, std::int64_t chunk, std::int64_t part) {
  walk_masked(plane, w, chunk);
  w.total.longest = LongestInPart(plane, w.across.get(), chunk, part).find(w.total.longest.get());
}

/// Counts parts that end within a chunk (no legal tile has them), group by group of both axes, skipping groups that see
/// nothing.
void walk_ragged_parts(const Plane& plane, Walk& w, std::int64_t chunk, std::int64_t part) {
  const std::int64_t group = w.across.get();
  w.total = {ceil_div(plane.across, group), 0, 0, 0};
  const Span seeing = plane.seeing();
  w.last_chunks = w.last_columns = 0;
  for (std::int64_t first = seeing.first / group * group, last = 0; first < seeing.last; first = last) {
    last = group < plane.across - first ? first + group : plane.across;
    const Span seen = plane.seen(first, last);
    w.last_chunks = w.last_columns = 0;
    for (std::int64_t begin = seen.first / part * part; seen.size() > 0 && begin < seen.last; begin += part) {
      const std::int64_t end = std::min(begin + part, plane.along);
      const std::int64_t from = begin + std::max<std::int64_t>(seen.first - begin, 0) / chunk * chunk;
      const std::int64_t visited = ceil_div(std::min(seen.last, end) - from, chunk).get();
      w.last_chunks += visited;
      w.last_columns += visited < ceil_div(end - from, chunk).get() ? visited * chunk : end - from;
      w.total.longest = std::max(w.total.longest, Count(visited));
    }
    w.total.chunks += w.last_chunks;
    w.total.columns += w.last_columns;
  }
  if (seeing.last <= (plane.across - 1) / group * group) w.last_chunks = w.last_columns = 0;
}

}  // namespace

Walk walk_of(const PlacedDiagram& placed, const PlacedLevel& level) {
  const PlacedLevel& block = placed.block();
  const bool alike = level.chunk == block.chunk &&
                     (!placed.across || level.extent[at(*placed.across)] == block.extent[at(*placed.across)]);
  if (&level > &block || (&level < &block && alike)) return placed.walk;
  Walk w;
  w.total = {1, 1, 1, 1};
  w.last_chunks = w.last_columns = 1;
  if (!placed.streamed->stream) return w;
  const AxisId stream = *placed.streamed->stream;
  const Count columns = placed.problem->sizes[at(stream)];
  const Count part = std::min(block.extent[at(stream)], columns), longest = ceil_div(part, level.chunk);
  w.all_chunks = part == columns ? longest : columns / part * longest + ceil_div(columns % part, level.chunk);
  w.total = {1, w.all_chunks, columns, longest};
  w.last_chunks = w.all_chunks;
  w.last_columns = columns;
  if (!placed.across) return w;
  w.across = level.extent[at(*placed.across)];
  const Plane plane(placed, stream);
  if (&level == &block && placed.together) w.together = placed.cluster;
  if (part == columns && w.together > Count(1)) {
    walk_masked_together(plane, w, level.chunk.get());
  } else if (part == columns) {
    walk_masked(plane, w, level.chunk.get());
  } else if (part % level.chunk == Count(0)) {
    walk_masked_parts(plane, w, level.chunk.get(), part.get());
  } else {
    constexpr std::int64_t most = std::int64_t{1} << 26;
    const Count looks = ceil_div(plane.across, w.across.get()) * ceil_div(plane.along, part.get());
    if (looks > Count(most))
      throw Error(placed.mapping->name,
                  "parts that end within a chunk are counted one by one, and there are " + std::to_string(looks.get()) +
                      " of them and of rows of blocks",
                  "parts of whole chunks");
    walk_ragged_parts(plane, w, level.chunk.get(), part.get());
  }
  return w;
}

bool walks_backward(const PlacedDiagram& placed) {
  for (const LevelMapping& level : placed.mapping->levels) {
    if (placed.machine->find_level(level.level) == placed.block().level) return level.backward;
  }
  return false;
}

}  // namespace napkin::internal
