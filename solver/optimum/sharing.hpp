#pragma once
// sharing() computes the bytes that nodes save if each reads some of its data out of the others' memories: eight GPUs
// of a node need H*(M) bytes, of which H*(8 M) lie in one of them anyway. (eq. 7.6)

#include "solver/optimum/geometric_program.hpp"

namespace napkin::internal {

struct Sharing {
  double memory = 0;    ///< M, in the unit of the programme
  double apart = 0;     ///< H*(M)
  double together = 0;  ///< H*(N M)
  [[nodiscard]] double between() const { return apart - together; }
};

/// Returns the number of groups into which the optimum cuts the work at `memory`.
[[nodiscard]] double groups_at(const GeometricProgram& program, double memory);

/// Computes the sharing of `nodes` nodes of at most `memory` each: a node that could hold more than an even share of
/// the work has the memory of that share. Throws Error for an empty programme.
[[nodiscard]] Sharing sharing(const GeometricProgram& program, double memory, double nodes);

}  // namespace napkin::internal
