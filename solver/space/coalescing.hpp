#pragma once
// coalescing() finds the multiples that group sizes must be so that only whole transfers move, before a kernel is
// chosen: 64 elements of 2 bytes where a transfer has 128. (model/README.md, "From diagram to kernel")

#include <vector>

#include "solver/space/granularity.hpp"

namespace napkin::internal {

/// Returns the divisor of each axis along which an input or an output lies with unit stride. No rule holds tiles to
/// them. By AxisId.
[[nodiscard]] std::vector<Granularity> coalescing(const Diagram& diagram, const Machine& machine,
                                                  const Problem& problem);

/// Joins two lists: an axis of both gets the least common multiple and all causes.
[[nodiscard]] std::vector<Granularity> merged(std::vector<Granularity> a, const std::vector<Granularity>& b);

}  // namespace napkin::internal
