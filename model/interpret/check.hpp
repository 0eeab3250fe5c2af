#pragma once
// check() runs a smaller problem in place of one that is too large: the tile keeps its sizes, and there are fewer
// groups: three of 128 rows in place of 64.

#include "model/interpret/run.hpp"

namespace napkin::internal {

/// The limits of a check's work.
struct CheckLimits {
  double work = 2e9;        ///< multiply-adds, each value of an array counted as 50: seconds on one core
  std::int64_t groups = 3;  ///< groups or chunks kept of an axis that has more
  Progress progress = {};   ///< progress of the streamed run
};

struct CheckResult {
  /// The problem and the tile that ran; predict these, and compare with `counts`.
  Problem problem;
  Partition partition;
  Counts counts;
  /// The largest difference between streamed and unfused outputs over the largest output, in float64.
  double output_error = 0;
  bool outputs_agree = false;  ///< true if output_error <= 1e-12
};

/// Scales the problem down: a few groups or chunks of every grouped and of the streamed axis, the last ragged as in the
/// original, with the order of rows and columns kept; windows shrink in proportion. Shrinks the tile and the other axes
/// only if that is still too much work.
[[nodiscard]] std::pair<Problem, Partition> scaled_down(const Streamed& streamed, const Problem& problem,
                                                        const Partition& partition, const CheckLimits& limits = {});

/// Runs the scaled-down question on random inputs, streamed and unfused; also, with parts, the program with its smaller
/// loops. The caller compares `counts` with its model's prediction for `problem` and `partition`.
[[nodiscard]] CheckResult check(const Streamed& streamed, const Problem& problem, const Partition& partition,
                                const CheckLimits& limits = {}, const PartsOf& parts = {});

}  // namespace napkin::internal
