#pragma once
// integer_optimum finds the exact integer optimum: whole group sizes, ceilings, divisors, a real memory rule. The
// closed form may have groups of 177.4 rows: a kernel has 176 or 192. (eq. 6.4)

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "model/base/count.hpp"

namespace napkin::internal {

struct IntegerAxis {
  Count size = 1;
  Count multiple = 1;               ///< lcm of the divisors, of which g must be a multiple
  bool divides = false;             ///< true if g must also divide the size
  std::optional<Count> fixed = {};  ///< single possible size, if there is one
};

/// A term coefficient * prod_{i in lacks} ceil(a_i / g_i): an array at full size, once for each group of the axes it
/// lacks.
struct IntegerTerm {
  Count coefficient = 0;
  std::uint64_t lacks = 0;  ///< set of positions in IntegerProblem::axes
};

/// The problem: minimise the sum of terms subject to memory(g, s) <= limit, g_i a multiple of k_i up to round_up(a_i,
/// k_i).
struct IntegerProblem {
  std::vector<IntegerAxis> axes;
  std::vector<IntegerTerm> terms;
  /// The memory of group sizes and a chunk. It must not decrease when one of them grows; an Overflow counts as too
  /// large.
  std::function<Count(std::span<const Count> group, Count chunk)> memory;
  Count limit = 0;
  std::vector<Count> chunks = {1};  ///< the stream sizes to try
};

struct IntegerOptimum {
  Count transfer;
  std::vector<Count> group;  ///< group sizes by axis of the problem
  Count chunk = 1;
  Count memory;
  std::int64_t examined = 0;  ///< complete assignments evaluated
};

/// Finds the minimum; nothing if not even the smallest groups fit. integer.cpp says how ties are broken. Throws
/// Overflow if the minimum needs more than 64 bits, Error for sizes, multiples or chunks below 1.
[[nodiscard]] std::optional<IntegerOptimum> integer_optimum(const IntegerProblem& problem);

/// Computes H of the given group sizes exactly. Throws Overflow.
[[nodiscard]] Count transfer_of(const IntegerProblem& problem, std::span<const Count> group);

}  // namespace napkin::internal
