#pragma once
// program_of and integer_problem_of build the optimisation problems of a streamed diagram: the real one (geometric
// programme) and the exact one.

#include <span>
#include <vector>

#include "model/base/quantity.hpp"
#include "model/diagram/problem.hpp"
#include "model/fusion/partition.hpp"
#include "model/fusion/streamed.hpp"
#include "solver/optimum/geometric_program.hpp"
#include "solver/optimum/integer.hpp"

namespace napkin::internal {

/// Returns the grouped axes in the diagram's order, which positions in a programme or an integer problem refer to.
[[nodiscard]] std::vector<AxisId> grouped_axes(const Streamed& streamed);

/// Returns an axis as a symbol. An axis whose size is a default is printed as that default: d for dv = d, nothing for b
/// = 1.
[[nodiscard]] Product axis_symbol(const Diagram& diagram, const Sizes& sizes, AxisId axis);

/// Returns the bytes a value of each array, by ArrayId: of its own type, or of the question's.
[[nodiscard]] std::vector<double> value_bytes(const Diagram& diagram, DType type);

/// Rows that shifted dimensions read outside their arrays, which are not moved.
enum class Border {
  counted,   ///< rows counted as if they were moved: every group moves as much as any other
  left_out,  ///< rows left out, as many as groups of 1 read there, more than larger groups do: the result is a lower
             ///< bound
};

/// Makes the programme of a streamed diagram at these sizes, unmasked. `weight` by ArrayId is in bytes a value (the
/// memory is then in bytes); empty: 1 each. A comment in the definition explains the choice of `resident`.
[[nodiscard]] GeometricProgram program_of(const Streamed& streamed, const Problem& problem,
                                          const std::vector<double>& weight = {}, Border border = Border::counted);

/// The memory rule of a streamed diagram with its sizes filled in: a maximum over columns of sums of products. Equal to
/// memory(streamed, partition, view), and much faster for repeated calls.
class MemoryRule {
 public:
  MemoryRule(const Streamed& streamed, const Sizes& sizes, ColumnView view);

  /// Computes the values of a full group; `group` by position in grouped_axes(). Throws Overflow.
  [[nodiscard]] Count operator()(std::span<const Count> group, Count chunk) const;

  /// Returns the column that is largest there, in names: "2 g_q d + 2 s_x d".
  [[nodiscard]] std::vector<Product> largest(std::span<const Count> group, Count chunk) const;

 private:
  struct Part {
    Count fixed = 1;  // sizes of the axes that are neither grouped nor streamed
    std::vector<std::size_t> grouped;
    bool streamed = false;
    Product symbol;
    bool operator==(const Part&) const = default;
  };
  using Sum = std::vector<Part>;
  [[nodiscard]] Count value(const Sum& sum, std::span<const Count> group, Count chunk) const;

  std::vector<Sum> columns_;
  Count stream_size_ = 1;                    // size of a streamed axis that is not grouped
  std::optional<std::size_t> split_stream_;  // position of a grouped axis that also streams
};

/// Makes the exact problem: H with ceilings, memory by `view` <= limit, chunk 1, no divisors (the caller may add some),
/// no masks. Throws Overflow if an array alone exceeds 64 bits.
[[nodiscard]] IntegerProblem integer_problem_of(const Streamed& streamed, const Problem& problem, Values limit,
                                                ColumnView view = ColumnView::drawn);

}  // namespace napkin::internal
