#include "model/resource/block_touches.hpp"

#include <algorithm>
#include <cmath>

#include "model/resource/resources.hpp"

namespace napkin::internal {
namespace {

/// The largest number of segments of the streamed axis. Blocks whose diagonals lie in the same segment have caught up
/// with one another, as counters of an H200 show (model/README.md, "The two rules").
constexpr std::int64_t most_segments = 16;
constexpr std::int64_t most_sampled = std::int64_t{1} << 15;
constexpr std::int64_t most_known = 1024;  // rows and planes

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

std::int64_t segment_of(const PlacedDiagram& placed) {
  if (!placed.streamed->stream) return 1;
  const std::int64_t columns = placed.problem->sizes[index(*placed.streamed->stream)].get(),
                     chunk = placed.block().chunk.get(), chunks = (columns + chunk - 1) / chunk;
  return (chunks + most_segments - 1) / most_segments * chunk;
}

BlockTouches::BlockTouches(const PlacedDiagram& placed, int partitions, std::optional<Count> section,
                           std::int64_t running)
    : p_(placed), sequence_(placed, section), backward_(walks_backward(placed)) {
  find_lengths();
  const std::int64_t columns = p_.streamed->stream ? p_.problem->sizes[index(*p_.streamed->stream)].get() : 1;
  segment_ = segment_of(p_);
  segments_ = (columns + segment_ - 1) / segment_;
  for (const Crossing& c : p_.crossings) add(c, partitions, static_cast<double>(running));
  known_.resize(arrays_.size());
  rows_.resize(index(std::min(sequence_.rows(), most_known)));
  planes_.resize(index(std::min(sequence_.planes(), most_known)));
  rows_decide_ = rows_decide();
  find_equal_axes();
}

void BlockTouches::find_equal_axes() {
  sharing_.assign(arrays_.size(), 0);
  for (TouchedArray& t : arrays_) {
    const auto like = [&](const TouchedArray& one) { return one.grouped == t.grouped && one.streams == t.streams; };
    t.as = static_cast<std::size_t>(std::find_if(arrays_.begin(), arrays_.end(), like) - arrays_.begin());
    t.index = sharing_[t.as]++;
  }
}

double BlockTouches::all_steps() {
  const std::int64_t blocks = sequence_.size();
  const bool sampled = blocks > most_sampled, equal = !sampled && !packed_ && rows_decide_;
  const std::int64_t all = equal ? sequence_.rows() : blocks, looked_at = std::min(all, most_sampled);
  // odd, so that it reaches every row if their number is a power of two
  const std::int64_t stride = sampled ? (all * 5 / 8) | 1 : 1;
  double steps = 0;
  for (std::int64_t i = 0, number = 0; i < looked_at; ++i, number = (number + stride) % all)
    steps += static_cast<double>(steps_of(equal ? BlockPlace{number, 0} : sequence_.at(number)));
  return steps * static_cast<double>(blocks) / static_cast<double>(looked_at);
}

/// Returns true if a block's steps follow from its row.
bool BlockTouches::rows_decide() const {
  const auto& axes = sequence_.axes();
  return std::all_of(axes.begin(), axes.end(), [&](AxisId axis) {
    return axis == axes.back() || (axis != p_.across && axis != p_.streamed->stream);
  });
}

std::int64_t BlockTouches::steps_of(const BlockPlace& place) {
  const int part = packed_ ? packed_->part_of(place) : 0;
  if (part < 0) return 0;
  sequence_.coordinates(place, coordinate_);
  const Lengths& lengths = lengths_[static_cast<std::size_t>(part)];
  return std::max<std::int64_t>(segments_seen(lengths).size(), 1);
}

void BlockTouches::find_lengths() {
  const auto add_lengths = [&](const PlacedDiagram& own, Sizes sizes, bool blank) {
    Lengths out{std::move(sizes), own.block().groups_of, 1, 1, blank};
    if (p_.streamed->stream) {
      const std::size_t stream = index(*p_.streamed->stream);
      out.columns = out.sizes[stream].get();
      out.part = std::min(p_.block().extent[stream].get(), out.columns);
    }
    lengths_.push_back(std::move(out));
  };
  if (p_.packed.empty()) return add_lengths(p_, p_.problem->sizes, false);
  const Packing& packing = p_.problem->packing;
  for (const PackedPart& part : p_.packed) {
    Sizes sizes = p_.problem->sizes;
    for (const AxisId axis : {packing.rows, packing.columns}) sizes[index(axis)] = part.problem->sizes[index(axis)];
    add_lengths(part.placed, std::move(sizes), part.blank);
    lengths_.back().groups[index(packing.batch)] = p_.block().groups_of[index(packing.batch)];
  }
  packed_.emplace(p_, sequence_);
}

/// Adds the bytes that blocks move between the L2 and their own level, except parts that they exchange.
void BlockTouches::add(const Crossing& c, int partitions, double running) {
  if (c.into != p_.block().level || c.auxiliary >= 0 || p_.in_parts(c)) return;
  TouchedArray t;
  t.stored = c.store;
  t.left_out = c.skips && c.phase != Phase::loop;
  const auto& axes = p_.axes_of(c);
  const auto has = [&](AxisId axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); };
  // A streamed axis that is also split is numbered by its segments, so that blocks of all its parts agree on them.
  for (const AxisId axis : sequence_.axes()) {
    if (has(axis) && !(p_.streamed->stream == axis && c.phase == Phase::loop)) t.grouped.push_back(axis);
  }
  const auto is_fixed = [&](AxisId axis) {
    if (p_.streamed->stream == axis && c.phase == Phase::loop) return false;
    return std::find(t.grouped.begin(), t.grouped.end(), axis) == t.grouped.end();
  };
  t.streams = p_.streamed->stream && c.phase == Phase::loop && has(*p_.streamed->stream);
  t.alone = !t.streams && std::all_of(sequence_.axes().begin(), sequence_.axes().end(), [&](AxisId axis) {
    return has(axis) || p_.block().groups_of[index(axis)] <= Count(1);
  });
  t.by_row = !t.grouped.empty() && t.grouped.back() == sequence_.axes().back();
  for (const Lengths& lengths : lengths_) {
    double readers = 1, fixed = 1;
    for (const AxisId axis : sequence_.axes()) readers *= has(axis) ? 1 : real(lengths.groups[index(axis)]);
    for (const AxisId axis : axes) fixed *= is_fixed(axis) ? real(lengths.sizes[index(axis)]) : 1;
    t.fixed_bytes.push_back(fixed * bytes_per_value(c.type));
    t.copies.push_back(1 - std::pow(1 - 1.0 / partitions, c.store ? 1 : std::min(readers, running)));
  }
  arrays_.push_back(t);
}

bool BlockTouches::find(std::int64_t number, Block& block) {
  const BlockPlace place = sequence_.at(number);
  if (packed_) {
    const int part = packed_->part_of(place);
    if (part < 0) return false;
    block.lengths = static_cast<std::size_t>(part);
  }
  const Lengths& lengths = lengths_[block.lengths];
  const Known &row = row_of(place, block.lengths), &plane = plane_of(place, block.lengths);
  Span seen = row.seen;
  if (!rows_decide_) {
    sequence_.coordinates(place, coordinate_);
    seen = segments_seen(lengths);
  }
  const bool sees = seen.size() > 0;
  block.first = sees ? seen.first : 0;
  block.last = sees ? seen.last : 1;
  for (std::size_t a = 0; a < arrays_.size(); ++a) {
    const TouchedArray& array = arrays_[a];
    const bool touches = lengths.blank ? array.stored : sees || !(array.streams || array.left_out);
    const Group &of_row = row.groups[array.as], &of_plane = plane.groups[array.as];
    BlockPieces& own = block.pieces[a];
    own.bytes = touches ? array.fixed_bytes[block.lengths] * (of_row.cells * of_plane.cells) : 0;
    own.kept = own.bytes * array.copies[block.lengths];
    if (array.alone)
      own.first = 0;
    else if (array.index > 0)
      own.first = block.pieces[array.as].first + array.index * pieces_each(array);
    else
      own.first = array.by_row ? number_of(a, of_row.key + of_plane.key) : plane.first[a];
  }
  return true;
}

template <class Find>
const BlockTouches::Known& BlockTouches::kept(std::vector<Known>& all, std::int64_t number, const BlockPlace& place,
                                              std::size_t lengths, const Find& find) {
  Known& known = all[index(number) % all.size()];
  if (known.at == number && known.lengths == lengths) return known;
  known.at = number;
  known.lengths = lengths;
  sequence_.coordinates(place, coordinate_);
  find(known);
  return known;
}

const BlockTouches::Known& BlockTouches::row_of(const BlockPlace& place, std::size_t lengths) {
  return kept(rows_, place.row, place, lengths, [&](Known& row) {
    if (rows_decide_) row.seen = segments_seen(lengths_[lengths]);
    find_groups(true, lengths_[lengths], row);
  });
}

const BlockTouches::Known& BlockTouches::plane_of(const BlockPlace& place, std::size_t lengths) {
  return kept(planes_, place.plane, place, lengths, [&](Known& plane) {
    find_groups(false, lengths_[lengths], plane);
    plane.first.resize(arrays_.size());
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      const TouchedArray& array = arrays_[a];
      if (array.as == a && !array.alone && !array.by_row) plane.first[a] = number_of(a, plane.groups[a].key);
    }
  });
}

/// Finds the groups at the current coordinates, along the axis of rows or along all others.
void BlockTouches::find_groups(bool of_row, const Lengths& lengths, Known& known) const {
  known.groups.assign(arrays_.size(), {});
  for (std::size_t a = 0; a < arrays_.size(); ++a) {
    if (arrays_[a].as != a) continue;
    std::uint64_t stride = 1;
    const std::vector<AxisId>& axes = arrays_[a].grouped;
    for (std::size_t i = axes.size(); i-- > 0;) {
      const AxisId axis = axes[i];
      if ((arrays_[a].by_row && i + 1 == axes.size()) == of_row) {
        const std::int64_t extent = p_.block().extent[index(axis)].get(), size = lengths.sizes[index(axis)].get();
        const std::int64_t at = coordinate_[index(axis)];
        known.groups[a].cells *= static_cast<double>(std::clamp<std::int64_t>(size - at * extent, 0, extent));
        known.groups[a].key += stride * static_cast<std::uint64_t>(at);
      }
      stride *= static_cast<std::uint64_t>(p_.block().groups_of[index(axis)].get() + 1);
    }
  }
}

/// Returns the block's range of the streamed axis, without the columns that the mask hides from all its rows.
Span BlockTouches::columns_seen(const Lengths& lengths) const {
  if (!p_.streamed->stream) return {0, lengths.columns};
  const AxisId stream = *p_.streamed->stream;
  const std::int64_t begin = coordinate_[index(stream)] * lengths.part,
                     end = std::min(begin + lengths.part, lengths.columns);
  if (!p_.across || !p_.streamed->skips) return {begin, end};
  const auto [row_axis, column_axis] = *p_.streamed->skips;
  const std::int64_t members = lengths.sizes[index(*p_.across)].get(), group = p_.walk.across.get();
  const std::int64_t block = coordinate_[index(*p_.across)], together = p_.walk.together.get();
  if (block * group >= members) return {0, 0};  // a block beyond the array, which fills up a cluster
  const std::int64_t first = block / together * together * group, last = std::min(first + together * group, members);
  const std::int64_t rows = lengths.sizes[index(row_axis)].get(), columns = lengths.sizes[index(column_axis)].get();
  const Span seen = *p_.across == row_axis ? visible(p_.problem->mask, first, last, rows, columns)
                                           : visible_rows(p_.problem->mask, first, last, rows, columns);
  return {std::max(seen.first, begin), std::min(seen.last, end)};
}

/// Returns the segments that the block at the current coordinates sees; from 0 to 0 if it sees nothing.
Span BlockTouches::segments_seen(const Lengths& lengths) const {
  const Span seen = lengths.blank ? Span{} : columns_seen(lengths);
  if (seen.size() <= 0) return {0, 0};
  return {seen.first / segment_, (seen.last + segment_ - 1) / segment_};
}

/// Returns the number of the first piece with that key. Numbers are consecutive, and assigned at a first touch, for
/// arrays with the same axes together.
std::size_t BlockTouches::number_of(std::size_t array, std::uint64_t key) {
  const auto [first, is_new] = known_[array].of(key, pieces_);
  if (is_new) pieces_ += sharing_[array] * pieces_each(arrays_[array]);
  return first;
}

}  // namespace napkin::internal
