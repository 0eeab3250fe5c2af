#pragma once
// These functions find the rows of an input that its axes read: of "X[x: 2*i + k - 1, c]" the rows 2 i + k - 1, of
// "K[p: T[n], d]" those that the table T names. They also count the values of such an input that a part of the axes
// needs. (eq. 2.9)

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/diagram/problem.hpp"

namespace napkin::internal {

/// Returns the array's axes as stored: x and c of X, p and d of K.
[[nodiscard]] std::vector<AxisId> stored_axes(const Array& array);
/// Returns the array's axes after table lookups: x and c of X, n and d of K.
[[nodiscard]] std::vector<AxisId> gathered_axes(const Array& array);
/// Returns the shifted dimension that begins at that place of Array::axes, or nothing.
[[nodiscard]] const Reindex* shifted_at(const Array& array, std::size_t place);
/// Returns true if a dimension is shifted, so that its parts overlap and no product of extents counts its values.
[[nodiscard]] bool is_shifted(const Array& array);
[[nodiscard]] bool is_shifted(const Array& array, AxisId axis);

/// Returns the number of rows, from the first to the last, that `extent(axis)` of each axis reads, rows outside the
/// array included: 1 + sum of stride (extent - 1).
template <class Extent>
[[nodiscard]] Count reach(const Array& array, const Reindex& dimension, const Extent& extent) {
  Count rows = 1;
  for (std::size_t i = 0; i < dimension.strides.size(); ++i)
    rows += Count(dimension.strides[i]) * (Count(extent(array.axes[dimension.first + i])) - Count(1));
  return rows;
}

/// Returns the number of values in the part of an array that `extent(axis)` of each axis needs, as a buffer for a full
/// part holds it.
template <class Extent>
[[nodiscard]] Count part_of(const Array& array, const Extent& extent) {
  Count values = 1;
  for (std::size_t i = 0; i < array.axes.size();) {
    const Reindex* shifted = shifted_at(array, i);
    values *= shifted == nullptr ? Count(extent(array.axes[i])) : reach(array, *shifted, extent);
    i += shifted == nullptr ? 1 : shifted->strides.size();
  }
  return values;
}

/// Equal pieces of an axis: `count` pieces of `length` values, beginning at `first`, `first + step`, ...
struct Pieces {
  std::int64_t first = 0, step = 1, count = 0, length = 0;
};
/// Returns the pieces of an axis of that size in groups that are each walked in chunks.
[[nodiscard]] std::vector<Pieces> pieces_of(Count size, Count group, Count chunk);

/// Returns the rows that all combinations of pieces of its axes read from a shifted dimension of that many rows,
/// exactly. Rows that two combinations read count twice, rows outside the array not at all. `pieces` by axis of the
/// dimension, in order.
[[nodiscard]] Count rows_read(const Reindex& dimension, const std::vector<std::vector<Pieces>>& pieces, Count rows);

/// Returns the product of the values of an array's shifted dimensions, over all parts; `group` and `chunk` give an
/// axis's pieces. 1 without such dimensions.
template <class Group, class Chunk>
[[nodiscard]] Count shifted_values(const Array& array, const Sizes& sizes, const Group& group, const Chunk& chunk) {
  Count values = 1;
  for (const Reindex& dimension : array.reindexed) {
    if (dimension.table) continue;
    std::vector<std::vector<Pieces>> pieces;
    for (std::size_t i = 0; i < dimension.strides.size(); ++i) {
      const AxisId axis = array.axes[dimension.first + i];
      pieces.push_back(pieces_of(sizes[at(axis)], group(axis), chunk(axis)));
    }
    values *= rows_read(dimension, pieces, sizes[at(dimension.of)]);
  }
  return values;
}

/// Returns the values that a full group away from the array's ends reads.
template <class Group, class Chunk>
[[nodiscard]] Count shifted_values_of_group(const Array& array, const Group& group, const Chunk& chunk) {
  Count values = 1;
  for (Reindex dimension : array.reindexed) {
    if (dimension.table) continue;
    dimension.offset = 0;
    std::vector<std::vector<Pieces>> pieces;
    for (std::size_t i = 0; i < dimension.strides.size(); ++i) {
      const AxisId axis = array.axes[dimension.first + i];
      pieces.push_back(pieces_of(group(axis), group(axis), chunk(axis)));
    }
    values *= rows_read(dimension, pieces, INT64_MAX);
  }
  return values;
}

/// Returns the number of values of an array that its axes read, each counted once.
[[nodiscard]] Count values_read(const Array& array, const Sizes& sizes);

/// Returns the default size of a dimension that has no size: the number of rows that are read.
[[nodiscard]] Count rows_by_default(const Diagram& diagram, const Array& array, const Reindex& dimension,
                                    const Sizes& sizes);

}  // namespace napkin::internal
