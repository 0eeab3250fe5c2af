#pragma once
// A Block is a part of an array: its numbers inside a box, such as rows 128 to 255 of Q; walk() goes over several
// blocks at once. Internal to the folder.

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "model/diagram/problem.hpp"
#include "model/diagram/reindex.hpp"

namespace napkin::internal::interpret {

/// The range on each axis, by AxisId.
using Box = std::vector<Span>;

inline std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Returns the box of all axes in full.
[[nodiscard]] inline Box full_box(const Sizes& sizes) {
  Box box;
  for (Count size : sizes) box.push_back({0, size.get()});
  return box;
}

/// Row-major numbers of the array with these axes, inside `spans` (one for each axis).
template <class T>
struct Block {
  std::vector<AxisId> axes;
  std::vector<Span> spans;
  std::vector<T> data;

  Block() = default;
  Block(std::vector<AxisId> its_axes, const Box& box, T fill) : axes(std::move(its_axes)) {
    std::size_t n = 1;
    spans.reserve(axes.size());
    for (AxisId a : axes) {
      spans.push_back(box[index(a)]);
      n *= index(spans.back().size());
    }
    data.assign(n, fill);
  }

  [[nodiscard]] std::int64_t volume() const { return static_cast<std::int64_t>(data.size()); }
  [[nodiscard]] std::vector<std::int64_t> shape() const {
    std::vector<std::int64_t> sizes;
    for (const Span& s : spans) sizes.push_back(s.size());
    return sizes;
  }
};

using Strides = std::vector<std::int64_t>;

/// Makes a block of zeros for the part of an input that `box` needs, along gathered_axes(): all rows of a shifted
/// dimension from first to last, those outside the array too.
template <class T>
[[nodiscard]] Block<T> rows_block(const Array& array, const Box& box) {
  Box rows = box;
  for (const Reindex& dimension : array.reindexed) {
    if (dimension.table) continue;
    Span& span = rows[index(dimension.of)];
    span = {dimension.offset, dimension.offset + 1};
    for (std::size_t i = 0; i < dimension.strides.size(); ++i) {
      const Span& read = box[index(array.axes[dimension.first + i])];
      span.first += dimension.strides[i] * read.first;
      span.last += dimension.strides[i] * (read.last - 1);
    }
  }
  return Block<T>(gathered_axes(array), rows, T(0));
}

/// Returns the strides of a block's data along each of `axes`; 0, which broadcasts, along an axis that it lacks.
template <class T>
[[nodiscard]] Strides strides_along(const std::vector<AxisId>& axes, const Block<T>& block) {
  Strides strides(axes.size(), 0);
  std::int64_t step = 1;
  for (std::size_t k = block.axes.size(); k-- > 0;) {
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] == block.axes[k]) strides[i] = step;
    }
    step *= block.spans[k].size();
  }
  return strides;
}

/// Returns strides with which walk() yields the index along one axis.
[[nodiscard]] inline Strides index_along(const std::vector<AxisId>& axes, AxisId axis) {
  Strides strides(axes.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) strides[i] = axes[i] == axis ? 1 : 0;
  return strides;
}

/// Calls row(offsets, n, steps) for every innermost row: n numbers at offsets[k], offsets[k] + steps[k], ... of each of
/// K operands.
template <std::size_t K, class F>
void walk(const std::vector<std::int64_t>& shape, const std::array<Strides, K>& strides, F&& row) {
  std::array<std::int64_t, K> offsets{}, steps{};
  if (shape.empty()) return row(offsets, std::int64_t{1}, steps);
  const std::size_t inner = shape.size() - 1;
  for (std::size_t k = 0; k < K; ++k) steps[k] = strides[k][inner];
  for (std::int64_t size : shape) {
    if (size == 0) return;
  }
  std::vector<std::int64_t> at(inner, 0);
  for (;;) {
    row(offsets, shape[inner], steps);
    std::size_t axis = inner;
    for (;;) {
      if (axis == 0) return;
      --axis;
      for (std::size_t k = 0; k < K; ++k) offsets[k] += strides[k][axis];
      if (++at[axis] < shape[axis]) break;
      for (std::size_t k = 0; k < K; ++k) offsets[k] -= strides[k][axis] * shape[axis];
      at[axis] = 0;
    }
  }
}

/// Returns the block's range on an axis; nothing if it lacks the axis.
template <class T>
[[nodiscard]] const Span* span_on(const Block<T>& block, AxisId axis) {
  for (std::size_t i = 0; i < block.axes.size(); ++i) {
    if (block.axes[i] == axis) return &block.spans[i];
  }
  return nullptr;
}

/// Copies the common part of two blocks, broadcast along the axes that `from` lacks. Returns the number of values
/// written.
template <class T>
std::int64_t copy_common(const Block<T>& from, Block<T>& to) {
  std::vector<std::int64_t> shape;
  std::int64_t n = 1, from_start = 0, to_start = 0;
  const Strides from_steps = strides_along(to.axes, from), to_steps = strides_along(to.axes, to);
  for (std::size_t i = 0; i < to.axes.size(); ++i) {
    const Span here = to.spans[i];
    const Span* other = span_on(from, to.axes[i]);
    const Span there = other == nullptr ? here : *other;
    const std::int64_t first = std::max(there.first, here.first);
    shape.push_back(std::max<std::int64_t>(std::min(there.last, here.last) - first, 0));
    n *= shape.back();
    from_start += (first - there.first) * from_steps[i];
    to_start += (first - here.first) * to_steps[i];
  }
  if (n == 0) return 0;
  walk<2>(shape, {from_steps, to_steps}, [&](const auto& at, std::int64_t count, const auto& steps) {
    const T* source = from.data.data() + from_start + at[0];
    T* target = to.data.data() + to_start + at[1];
    for (std::int64_t i = 0; i < count; ++i) target[i * steps[1]] = source[i * steps[0]];
  });
  return n;
}

/// Returns the values that the array's axes read in `box` from the rows of a rows_block().
template <class T>
[[nodiscard]] Block<T> spread(const Array& array, const Block<T>& rows, const Box& box) {
  Block<T> result(array.axes, box, T(0));
  Strides from = strides_along(array.axes, rows);
  for (const Reindex& dimension : array.reindexed) {
    if (dimension.table) continue;
    const std::int64_t step = strides_along({dimension.of}, rows)[0];
    for (std::size_t i = 0; i < dimension.strides.size(); ++i) from[dimension.first + i] = dimension.strides[i] * step;
  }
  walk<2>(result.shape(), {from, strides_along(array.axes, result)},
          [&](const auto& at, std::int64_t n, const auto& steps) {
            for (std::int64_t i = 0; i < n; ++i)
              result.data[index(at[1] + i * steps[1])] = rows.data[index(at[0] + i * steps[0])];
          });
  return result;
}

}  // namespace napkin::internal::interpret
