#pragma once
// An OptimumReport is the optimum of one level of a streamed diagram, as a reporter prints it. ("optimum" and "formula"
// of docs/command-line.md)

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "solver/optimum/program.hpp"

namespace napkin::internal {

/// The optimum in whole numbers, sizes by axis name.
struct IntegerReport {
  Values transfer;
  std::vector<std::pair<std::string, Count>> group;
  Count chunk = 1;
  Values memory;
};

struct FormulaReport {
  std::string transfer;  ///< transfer of any tile: "2 q d + 2 q x d / g_q"
  std::string memory;    ///< memory, as the largest column at the optimum: "2 g_q d + 2 s_x d"
  std::string optimum;   ///< transfer of the best tile: "2 q d + 4 q x d^2 / M"
};

struct OptimumReport {
  bool fits = false;             ///< true if the memory holds at least the smallest group
  std::vector<PowerTerm> terms;  ///< terms under the limits that bind at this memory, each beta once
  bool exact = true;             ///< true if transfer is the sum of the terms; else the last is only the leading power
  double transfer = 0;           ///< H*, values
  std::vector<std::pair<std::string, double>> group;  ///< real-valued group sizes by axis name
  ClosedForm textbook;                                ///< closed form without the upper limits of the axes (eq. 1)
  std::optional<IntegerReport> integer;               ///< integer optimum; none if not even groups of 1 fit
  /// The exact integer optimum over the closed form, at least 1; 0 without an integer optimum, or under a mask (the
  /// closed form counts every pair).
  double ratio = 0;
  FormulaReport formula;
};

/// Finds the closed form and the exact integer optimum (streams 1, no divisors, memory_lower_bound <= memory). A mask
/// that leaves chunks out is counted too, over every size of the masked row axis (the largest 65,536 that fit). Throws
/// Overflow, Error.
[[nodiscard]] OptimumReport optimum_of(const Streamed& streamed, const Problem& problem, Values memory);

/// Finds the integer optimum alone, with this problem's divisors and chunks.
[[nodiscard]] std::optional<IntegerOptimum> integer_optimum_of(const Streamed& streamed, const Problem& problem,
                                                               const IntegerProblem& limits);

}  // namespace napkin::internal
