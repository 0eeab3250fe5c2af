#pragma once
// program_of and integer_problem_of get from a streamed diagram to its optimisation problems: the real one (geometric
// programme) and the exact one.

#include <span>
#include <vector>

#include "model/base/quantity.hpp"
#include "model/diagram/problem.hpp"
#include "model/fusion/partition.hpp"
#include "model/fusion/streamed.hpp"
#include "solver/optimum/geometric_program.hpp"
#include "solver/optimum/integer.hpp"

namespace napkin {

/// The grouped axes in the diagram's order: what positions in a programme or an integer problem stand for.
[[nodiscard]] std::vector<AxisId> grouped_axes(const Streamed& streamed);

/// An axis as a symbol: an axis whose size is its default shows as that default (dv = d prints d, b = 1 prints
/// nothing).
[[nodiscard]] Product axis_symbol(const Diagram& diagram, const Sizes& sizes, AxisId axis);

/// Bytes a value of each array, by ArrayId: of its own type, or of the question's.
[[nodiscard]] std::vector<double> value_bytes(const Diagram& diagram, DType type);

/// Rows that shifted dimensions read outside their arrays, which are not moved.
enum class Border {
  counted,   ///< as if they were: every group moves the same
  left_out,  ///< as many as groups of 1 read there, more than others do: what is left is a lower bound
};

/// The programme of a streamed diagram with these sizes. `weight` by ArrayId: bytes a value (mixed precision; the
/// memory is then in bytes); empty: 1 each, everything in values.
/// y: of each drawn column the values, per unit of group volume, of the arrays that carry every grouped axis and not
/// the stream; the column with the largest sum. Attention: Q and O, 2 d; matmul: C, 1 (erratum P13). Where no array
/// carries all (a split axis that outputs lack), the largest set of grouped axes that some array carries is limited and
/// the others are not: a relaxation, still a lower bound. Masks are not seen: every pair counts.
[[nodiscard]] GeometricProgram program_of(const Streamed& streamed, const Problem& problem,
                                          const std::vector<double>& weight = {}, Border border = Border::counted);

/// The memory rule of a streamed diagram with its sizes filled in: a maximum over columns of sums of products, equal to
/// memory(streamed, partition, view) and much cheaper to ask often.
class MemoryRule {
 public:
  MemoryRule(const Streamed& streamed, const Sizes& sizes, ColumnView view);

  /// Values of one full group; `group` by position in grouped_axes(). Throws Overflow.
  [[nodiscard]] Count operator()(std::span<const Count> group, Count chunk) const;

  /// The column that is the largest there, in names: "2 g_q d + 2 s_x d".
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
  Count stream_size_ = 1;                    // of a streamed axis that is not grouped
  std::optional<std::size_t> split_stream_;  // position of a grouped axis that also streams
};

/// The exact problem: H with ceilings, memory by `view` <= limit, chunk 1, no divisors. Change the result's axes and
/// chunks to add divisors. Masks are not seen. Throws Overflow where an array alone exceeds 64 bits.
[[nodiscard]] IntegerProblem integer_problem_of(const Streamed& streamed, const Problem& problem, Values limit,
                                                ColumnView view = ColumnView::drawn);

}  // namespace napkin
