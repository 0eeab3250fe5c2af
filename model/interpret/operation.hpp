#pragma once
// evaluate() computes one operation on blocks of its operands: S of a tile of Q and a chunk of K. Internal to the
// folder.

#include <vector>

#include "model/interpret/block.hpp"

namespace napkin::internal::interpret {

/// The context of an operation beside its operands.
struct Question {
  const Diagram& diagram;
  const Problem& problem;

  [[nodiscard]] const Operation& operation(OpId id) const { return diagram.operations[index(id)]; }
  [[nodiscard]] const Array& array(ArrayId id) const { return diagram.arrays[index(id)]; }
};

/// Returns true if row i of the mask sees column j.
[[nodiscard]] bool sees(const Mask& mask, std::int64_t row, std::int64_t column, std::int64_t rows,
                        std::int64_t columns);

/// Evaluates the operation inside `box`: its outputs, in order. Axes that it consumes have the ranges of the operands'
/// blocks. Computes in T.
template <class T>
[[nodiscard]] std::vector<Block<T>> evaluate(const Question& question, OpId id,
                                             const std::vector<const Block<T>*>& inputs, const Box& box);

/// Sums the product of the inputs over `own`, along `axes`, times `scale`.
template <class T>
[[nodiscard]] Block<T> contract(const std::vector<const Block<T>*>& inputs, const std::vector<AxisId>& own,
                                const std::vector<AxisId>& axes, const Box& box, T scale);

// Softmax in steps, as the online form needs them. `state` blocks have the axes of one value a row.
// --------------------

/// Returns scale * scores along the axes of the probabilities; -infinity at masked pairs.
template <class T>
[[nodiscard]] Block<T> scaled_scores(const Question& question, OpId id, const Block<T>& scores, const Box& box);
/// Raises the state: state = max(state, every value of the row).
template <class T>
void raise_to_maximum(Block<T>& state, const Block<T>& values);
/// Computes values = exp(values - mu), 0 if mu is -infinity, and adds their sum to z. (eq. 4.2 and eq. 4.3)
template <class T>
void exponentials(Block<T>& values, const Block<T>& mu, Block<T>& z);
/// Multiplies along the rows: target *= factor.
template <class T>
void multiply_rows(Block<T>& target, const Block<T>& factor);
/// Divides along the rows: target /= z, 0 for z = 0 (a row that sees nothing).
template <class T>
void divide_rows(Block<T>& target, const Block<T>& z);
/// Computes mu + log z; -infinity for a row that sees nothing.
template <class T>
[[nodiscard]] Block<T> log_sum_exp(const Block<T>& mu, const Block<T>& z);

/// Returns a softmax's further output by its place: the log-sum-exp, or the maximum and the sum.
template <class T>
[[nodiscard]] Block<T> softmax_statistic(const Operation& op, std::size_t output, const Block<T>& mu,
                                         const Block<T>& z);

/// Merges the elements of the inputs, in order, into the state: a block for each of its values, one value a row.
/// Returns the results so far for a scan. (eq. 4.5)
template <class T>
[[nodiscard]] Block<T> fold_elements(const Question& question, OpId id, const std::vector<const Block<T>*>& inputs,
                                     const Box& box, std::vector<Block<T>>& state);
/// Returns the result of a state.
template <class T>
[[nodiscard]] Block<T> fold_result(const Question& question, OpId id, const std::vector<Block<T>>& state,
                                   const Box& box);

/// Adds `part` to `target`, or takes the larger of the two; same axes and spans, in any order of axes.
template <class T>
void add_into(Block<T>& target, const Block<T>& part);
template <class T>
void maximum_into(Block<T>& target, const Block<T>& part);

}  // namespace napkin::internal::interpret
