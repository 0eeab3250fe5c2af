#pragma once
// BoxedRows counts bytes of the copy engine's boxes as the receiver's hardware counter does: 96 bytes in a box of 128
// count as 128. (model/README.md eq. 2.5, measured on an H200: tests/measured/counters)

#include "model/base/count.hpp"

namespace napkin::internal {

/// Rows of an array in device memory, cut along the row into boxes, in bytes. The array's last axis is contiguous, and
/// each row begins at a multiple of 16 bytes, as the copy engine requires.
class BoxedRows {
 public:
  /// Describes a row of `row` bytes, covered by `tiles` parts of `tile` bytes, padded.
  BoxedRows(Count row, Count tile, Count tiles, bool multicast);

  /// Returns the cost of that many rows of tiles, for an array of `rows` rows. Exact if each row is loaded equally
  /// often; a remainder counts like the mean. Throws Overflow.
  [[nodiscard]] Count inside(Count tile_rows, Count rows) const;

  /// Returns the cost of a tile's row outside the array, filled with zeros.
  [[nodiscard]] Count outside() const;

 private:
  [[nodiscard]] Count read(Count at, Count length) const;
  [[nodiscard]] Count fill(Count length) const;
  [[nodiscard]] Count of_row(Count at) const;
  [[nodiscard]] Count of_first(Count rows) const;

  Count row_, pitch_, width_, tiles_, boxes_;
  bool multicast_;
};

constexpr std::int64_t l2_line = 128;  ///< bytes
constexpr std::int64_t l2_granule =
    64;  ///< least bytes that the L2 delivers at once (measured: rows of 32 B have half the rate)

/// Returns the bytes of a box's row: the widest swizzle that divides the tile's row, or the tile's row if none does.
[[nodiscard]] Count box_width(Count tile);

}  // namespace napkin::internal
