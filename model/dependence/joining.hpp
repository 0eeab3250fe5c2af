#pragma once
// joinings() proposes to re-associate a recurrence: a loop that carries a running maximum, sum or softmax may be cut
// into parts that run at once, if two parts' results can be joined. l = exp(m_1 - m) l_1 + exp(m_2 - m) l_2 joins what
// two parts of attention's keys sum up. (model/README.md, "Dependences")

#include <map>
#include <string>
#include <vector>

#include "model/dependence/graph.hpp"

namespace napkin::internal::dependence {

/// An operand of a statement, with the statement and the loops that made its value.
struct Operand {
  Reference value;
  std::optional<StatementId> by;  ///< statement that wrote it, in this iteration or an earlier one; none: it is given
  std::vector<LoopId> made_in;    ///< loops of that statement; for an array in memory, the loops of its subscripts
};
/// Returns the operands of a statement, left to right, each once: the sources of its loops.
[[nodiscard]] std::vector<Operand> operands_of(const Nest& nest, StatementId statement);

/// A carried array, and the rule that joins two parts' values of it. In `by`, X_1 and X_2 are the parts' values of
/// array X; X is the joined value, of arrays earlier in the list.
struct JoinedArray {
  std::string array;
  Expression by;
};

/// A loop that carries values, and how parts of it are joined.
struct Joining {
  LoopId loop = 0;
  std::vector<JoinedArray> arrays;  ///< arrays in the order in which they are joined; empty: the loop cannot be cut
  std::string why_not;              ///< reason why the loop cannot be cut; empty if it can
};

/// Returns a joining for each loop that carries a value. An array that grows by max or min joins by it; one that is
/// c(old, new) x + e joins by c, if c(y, y') c(y', y") = c(y, y") and e(y') c(y', y") = e(y") at arbitrary values.
[[nodiscard]] std::vector<Joining> joinings(const Nest& nest, const std::vector<Dependence>& dependences);

/// Evaluates an expression of references without subscripts, by name. Throws Error for an unknown name.
[[nodiscard]] double evaluate(const Expression& expression, const std::map<std::string, double>& values);

}  // namespace napkin::internal::dependence
