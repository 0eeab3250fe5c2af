#include "model/resource/boxes.hpp"

#include <algorithm>
#include <numeric>

namespace napkin::internal {
namespace {

constexpr std::int64_t line = l2_line, sector = 32;  // bytes of a line and of a sector, the units in which the L2 sends
constexpr std::int64_t row_alignment = 16;           // alignment of a row for the copy engine, bytes
constexpr std::int64_t least_shared = 64;  // least bytes that a multicast box sends of each line that it touches
constexpr std::int64_t least_zeros = 96;   // least bytes that it sends for a line's part outside of the array

/// Returns the bytes that [first, last) of one line cost, at least `least`.
Count of_line(Count first, Count last, Count least) {
  return std::max((ceil_div(last, sector) - first / sector) * sector, least);
}

}  // namespace

Count box_width(Count tile) {
  for (const std::int64_t swizzle : {128, 64, 32}) {
    if (tile % swizzle == Count(0)) return swizzle;
  }
  return tile;
}

BoxedRows::BoxedRows(Count row, Count tile, Count tiles, bool multicast)
    : row_(row),
      pitch_(round_up(row, row_alignment)),
      width_(box_width(tile)),
      tiles_(tiles),
      boxes_(tile / width_ * tiles),
      multicast_(multicast) {}

/// Returns the cost of that many bytes of the array, from an address.
Count BoxedRows::read(Count at, Count length) const {
  const Count least = multicast_ ? least_shared : 0, first = at % line, last = first + length;
  if (last <= Count(line)) return of_line(first, last, least);
  const Count rest = last % line;
  return of_line(first, line, least) + (last / line - 1) * line +
         (rest == Count(0) ? Count(0) : of_line(0, rest, least));
}

/// Returns the cost of that many zeros in place of bytes outside the array.
Count BoxedRows::fill(Count length) const {
  const Count zeros = round_up(length, sector);
  return multicast_ ? std::max(zeros, Count(least_zeros)) : zeros;
}

/// Returns the cost of a row's boxes from that address on: whole boxes, whose places in the lines repeat, a box that
/// reaches beyond the end, and boxes entirely beyond it.
Count BoxedRows::of_row(Count at) const {
  const Count whole = std::min(row_ / width_, boxes_), period = line / std::gcd(width_.get(), line);
  Count out = 0;
  for (Count i = 0; i < std::min(period, whole); i += 1) {
    out += ceil_div(whole - i, period) * read(at + i * width_, width_);
  }
  if (whole == boxes_) return out;
  const Count rest = row_ - whole * width_;
  if (rest > Count(0)) out += read(at + whole * width_, rest) + fill(width_ - rest);
  return out + (boxes_ - whole - (rest > Count(0) ? 1 : 0)) * fill(width_);
}

/// Returns the cost of the array's first rows, each read once; their places in the lines repeat.
Count BoxedRows::of_first(Count rows) const {
  const Count period = line / std::gcd(pitch_.get(), line);
  Count out = 0;
  for (Count i = 0; i < std::min(period, rows); i += 1) out += ceil_div(rows - i, period) * of_row(i * pitch_);
  return out;
}

Count BoxedRows::inside(Count tile_rows, Count rows) const {
  const Count all = rows * tiles_, period = line / std::gcd(pitch_.get(), line);
  return tile_rows / all * of_first(rows) + ceil_div(tile_rows % all * of_first(period), period * tiles_);
}

Count BoxedRows::outside() const { return boxes_ / tiles_ * fill(width_); }

}  // namespace napkin::internal
