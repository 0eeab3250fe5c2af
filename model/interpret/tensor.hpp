#pragma once
// A Tensor is a dense array of numbers, as the interpreter takes and returns them.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/diagram/problem.hpp"

namespace napkin::internal {

/// A row-major array: the last axis has unit stride, as in Array.
struct Tensor {
  std::vector<std::int64_t> shape;
  std::vector<double> data;
  bool operator==(const Tensor&) const = default;
};

/// Tensors by array name.
using Tensors = std::map<std::string, Tensor>;

/// Returns the number of values of a shape; 1 for no axes. Throws Overflow.
[[nodiscard]] std::int64_t volume(const std::vector<std::int64_t>& shape);
/// Returns the shape of an array at these sizes.
[[nodiscard]] std::vector<std::int64_t> shape_of(const Array& array, const Sizes& sizes);
[[nodiscard]] Tensor filled(std::vector<std::int64_t> shape, double value);

/// Makes an input for every input array: uniform in [-1, 1), the same on every machine for a seed.
[[nodiscard]] Tensors random_inputs(const Diagram& diagram, const Sizes& sizes, std::uint64_t seed);

/// Returns the largest magnitude of the finite values; 0 if there is none.
[[nodiscard]] double largest(const Tensor& tensor);
/// Returns the largest |a - b|. Equal infinities and two NaNs differ by 0; different shapes, and a NaN or infinity in
/// only one of the two, by infinity.
[[nodiscard]] double difference(const Tensor& a, const Tensor& b);

}  // namespace napkin::internal
