#include "model/interpret/tensor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/diagram/reindex.hpp"

namespace napkin::internal {
namespace {

/// splitmix64: small, and the same everywhere, unlike the distributions of <random>.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  double uniform() {  // [-1, 1)
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    z ^= z >> 31U;
    return static_cast<double>(z >> 11U) * 0x1p-52 - 1.0;
  }

 private:
  std::uint64_t state_;
};

/// Maps [-1, 1) evenly to row numbers: to the rows that all arrays have whose rows the table chooses.
void make_table(const Diagram& diagram, ArrayId table, const Sizes& sizes, Tensor& tensor) {
  double rows = std::numeric_limits<double>::max();
  for (const Array& array : diagram.arrays) {
    for (const Reindex& dimension : array.reindexed) {
      if (dimension.table == table) rows = std::min(rows, real(sizes[at(dimension.of)]));
    }
  }
  for (double& value : tensor.data) value = std::min(std::floor((value + 1) / 2 * rows), rows - 1);
}

}  // namespace

std::int64_t volume(const std::vector<std::int64_t>& shape) {
  Count product = 1;
  for (std::int64_t size : shape) product *= size;
  return product.get();
}

std::vector<std::int64_t> shape_of(const Array& array, const Sizes& sizes) {
  std::vector<std::int64_t> shape;
  for (AxisId a : stored_axes(array)) shape.push_back(sizes[static_cast<std::size_t>(a)].get());
  return shape;
}

Tensor filled(std::vector<std::int64_t> shape, double value) {
  const auto n = static_cast<std::size_t>(volume(shape));
  return {std::move(shape), std::vector<double>(n, value)};
}

Tensors random_inputs(const Diagram& diagram, const Sizes& sizes, std::uint64_t seed) {
  Random random(seed);
  Tensors inputs;
  for (ArrayId id : diagram.inputs) {
    const Array& array = diagram.arrays[static_cast<std::size_t>(id)];
    Tensor tensor = filled(shape_of(array, sizes), 0);
    for (double& value : tensor.data) value = random.uniform();
    if (diagram.is_table(id)) make_table(diagram, id, sizes, tensor);
    inputs.emplace(array.name, std::move(tensor));
  }
  return inputs;
}

double largest(const Tensor& tensor) {
  double found = 0;
  for (double value : tensor.data) {
    if (std::isfinite(value)) found = std::max(found, std::abs(value));
  }
  return found;
}

double difference(const Tensor& a, const Tensor& b) {
  constexpr double unlike = std::numeric_limits<double>::infinity();
  if (a.shape != b.shape || a.data.size() != b.data.size()) return unlike;
  double found = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    if (a.data[i] == b.data[i] || (std::isnan(a.data[i]) && std::isnan(b.data[i]))) continue;
    const double gap = std::abs(a.data[i] - b.data[i]);
    found = std::max(found, std::isfinite(gap) ? gap : unlike);
  }
  return found;
}

}  // namespace napkin::internal
