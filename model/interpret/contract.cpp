// Contractions as matrix products: operands are seen as [batch][m][k] and [batch][k][n], without a copy where their
// axes already lie so.

#include <Eigen/Core>
#include <algorithm>

#include "model/interpret/operation.hpp"

namespace napkin::internal::interpret {
namespace {

using Axes = std::vector<AxisId>;

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using View = Eigen::Map<const Matrix<T>>;

bool contains(const Axes& axes, AxisId axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); }

Axes joined_axes(const Axes& a, const Axes& b, const Axes& c) {
  Axes all = a;
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  return all;
}

template <class T>
Box box_of(const Block<T>& block, Box box) {
  for (std::size_t i = 0; i < block.axes.size(); ++i) box[index(block.axes[i])] = block.spans[i];
  return box;
}

template <class T>
std::int64_t size_along(const Block<T>& block, const Axes& axes) {
  std::int64_t n = 1;
  for (std::size_t i = 0; i < block.axes.size(); ++i) n *= contains(axes, block.axes[i]) ? block.spans[i].size() : 1;
  return n;
}

template <class T>
Block<T> permuted(const Block<T>& block, const Axes& axes, const Box& box) {
  Block<T> result(axes, box_of(block, box), T(0));
  copy_common(block, result);
  return result;
}

template <class T>
Block<T> sum_over(const Block<T>& block, const Axes& gone, const Box& box) {
  Axes kept;
  for (AxisId a : block.axes) {
    if (!contains(gone, a)) kept.push_back(a);
  }
  Block<T> result(kept, box_of(block, box), T(0));
  walk<2>(block.shape(), {strides_along(block.axes, block), strides_along(block.axes, result)},
          [&](const auto& at, std::int64_t n, const auto& step) {
            for (std::int64_t i = 0; i < n; ++i) {
              result.data[index(at[1] + i * step[1])] += block.data[index(at[0] + i * step[0])];
            }
          });
  return result;
}

/// An operand as one matrix for each batch: [outer][inner], or [inner][outer] if it is stored so (`flipped`).
template <class T>
class Operand {
 public:
  Operand(const Block<T>& block, const Axes& batch, const Axes& outer, const Axes& inner, const Box& box)
      : rows_(size_along(block, outer)), columns_(size_along(block, inner)) {
    data_ = block.data.data();
    if (block.axes == joined_axes(batch, outer, inner)) return;
    flipped_ = block.axes == joined_axes(batch, inner, outer);
    if (flipped_) return;
    own_ = permuted(block, joined_axes(batch, outer, inner), box);
    data_ = own_.data.data();
  }

  /// Calls f(matrix [outer][inner]) of one batch; a template on the layout keeps Eigen's products fast.
  template <class F>
  void with(std::int64_t batch, F&& f) const {
    const T* first = data_ + batch * rows_ * columns_;
    if (flipped_) {
      f(View<T>(first, columns_, rows_).transpose());
    } else {
      f(View<T>(first, rows_, columns_));
    }
  }

 private:
  const T* data_ = nullptr;
  std::int64_t rows_, columns_;
  bool flipped_ = false;
  Block<T> own_;
};

/// Sums the product over `own`, all of whose axes a or b carries. The result has the other axes of both: [batch][of
/// a][of b], in the order of `order` (axes of later operands in it are left out).
template <class T>
Block<T> product(const Block<T>& left, const Block<T>& right, const Axes& own, const Axes& order, const Box& box) {
  Axes alone_left, alone_right, inner, batch, rows, columns;
  for (AxisId a : own) {
    const bool in_left = contains(left.axes, a), in_right = contains(right.axes, a);
    if (in_left && in_right) inner.push_back(a);
    if (in_left && !in_right) alone_left.push_back(a);
    if (!in_left && in_right) alone_right.push_back(a);
  }
  if (!alone_left.empty()) return product(sum_over(left, alone_left, box), right, own, order, box);
  if (!alone_right.empty()) return product(left, sum_over(right, alone_right, box), own, order, box);
  for (AxisId a : order) {
    if (contains(own, a)) continue;
    const bool in_left = contains(left.axes, a), in_right = contains(right.axes, a);
    if (in_left && in_right) batch.push_back(a);
    if (in_left && !in_right) rows.push_back(a);
    if (!in_left && in_right) columns.push_back(a);
  }
  Block<T> result(joined_axes(batch, rows, columns), box_of(left, box_of(right, box)), T(0));
  const std::int64_t m = size_along(left, rows), n = size_along(right, columns), count = size_along(left, batch);
  const Operand<T> a(left, batch, rows, inner, box), b(right, batch, columns, inner, box);
  for (std::int64_t i = 0; i < count; ++i) {
    Eigen::Map<Matrix<T>> target(result.data.data() + i * m * n, m, n);
    a.with(i, [&](const auto& x) { b.with(i, [&](const auto& y) { target.noalias() = x * y.transpose(); }); });
  }
  return result;
}

}  // namespace

template <class T>
Block<T> contract(const std::vector<const Block<T>*>& inputs, const Axes& own, const Axes& axes, const Box& box,
                  T scale) {
  const Axes order = joined_axes(axes, own, {});
  Block<T> result;
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    Axes now;  // consumed here: what no later operand carries
    for (AxisId a : own) {
      bool later = false;
      for (std::size_t k = i + 1; k < inputs.size(); ++k) later = later || contains(inputs[k]->axes, a);
      if (!later) now.push_back(a);
    }
    result = product(i == 1 ? *inputs[0] : result, *inputs[i], now, order, box);
  }
  if (result.axes != axes) result = permuted(result, axes, box);
  if (scale != T(1)) {
    for (T& value : result.data) value *= scale;
  }
  return result;
}

template Block<double> contract(const std::vector<const Block<double>*>&, const Axes&, const Axes&, const Box&, double);
template Block<float> contract(const std::vector<const Block<float>*>&, const Axes&, const Axes&, const Box&, float);

}  // namespace napkin::internal::interpret
