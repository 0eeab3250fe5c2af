#pragma once
// A Slice is a run of a diagram's operations as a diagram of its own: the first two operations of Y = gelu(X W1) W2
// make A = gelu(X W1). Arrays that it reads and does not make are its inputs; arrays that later operations read are its
// outputs.

#include <vector>

#include "model/diagram/diagram.hpp"
#include "model/diagram/problem.hpp"

namespace napkin::internal {

struct Slice {
  Diagram diagram;
  Problem problem;  ///< problem of the slice's axes; no mask if no operation of the slice has one
};

/// Cuts out the operations from `first` to `last`, both included. The slice's name lists its outputs.
[[nodiscard]] Slice slice_of(const Diagram& whole, const Problem& problem, OpId first, OpId last);

}  // namespace napkin::internal
