#pragma once
// A Nest is a loop nest: loops, and statements that each assign one value per iteration. It knows no machine and no
// diagram. (model/README.md, "Dependences"; the text form is dependence/text.hpp)
//
// The nest is read as nested loops around a list of statements, of which each stands in some of the loops. A statement
// outside a loop runs once for all iterations of that loop: before them where no earlier statement of the list stands
// in the loop, else after them. So an iteration of the full nest in which a loop stands at its first (last) value runs
// the statements outside that loop too, and the loops may be permuted without touching the list.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/base/count.hpp"
#include "model/base/error.hpp"

namespace napkin::internal::dependence {

using LoopId = int;       ///< index into Nest::loops
using StatementId = int;  ///< index into Nest::statements

/// A loop: for name in begin .. end-1; never empty.
struct Loop {
  std::string name;
  std::int64_t begin = 0;
  std::int64_t end = 1;
  Location location;

  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

/// A subscript: i, i-1, i+1 or, without a loop, a constant.
struct Subscript {
  std::optional<LoopId> loop;
  std::int64_t offset = 0;
  bool operator==(const Subscript&) const = default;
};

/// A use of a value of an array: m_ij, O[i,d], A[i-1,j+1].
struct Reference {
  std::string array;
  std::vector<Subscript> subscripts;
  bool operator==(const Reference&) const = default;

  [[nodiscard]] bool uses(LoopId loop) const {
    for (const Subscript& s : subscripts) {
      if (s.loop == loop) return true;
    }
    return false;
  }
};

/// The value that a statement computes. A call's operands are in its argument order.
struct Expression {
  enum class Kind { number, reference, negate, add, subtract, multiply, divide, call };
  Kind kind = Kind::number;
  double number = 0;  ///< 0 or more, or infinity
  Reference reference;
  std::string function;
  std::vector<Expression> operands;
  bool operator==(const Expression&) const = default;
};

/// A statement, target = value, and the loops around it, in the nest's order.
struct Statement {
  std::string name;
  std::vector<LoopId> loops;
  Reference target;
  Expression value;
  Location location;

  [[nodiscard]] bool in(LoopId loop) const {
    for (LoopId l : loops) {
      if (l == loop) return true;
    }
    return false;
  }
  /// Returns the values that it reads, left to right.
  [[nodiscard]] std::vector<Reference> reads() const;
};

/// An array of the slow memory. All other names of a nest are temporaries: written before they are read.
struct MemoryArray {
  std::string name;
  std::optional<double> initial;  ///< initial value of every element; none: given from outside
  Location location;
};

struct Nest {
  std::string name;
  std::string about;
  std::vector<Loop> loops;  ///< outermost first
  std::vector<MemoryArray> arrays;
  std::vector<Statement> statements;  ///< statements in execution order
  std::vector<std::string> outputs;   ///< memory arrays that are wanted afterwards
  /// The claims of the nest's author, which defects() checks.
  std::vector<LoopId> claimed_parallel;
  std::string same_as;  ///< a nest that computes the same outputs; "" for none

  [[nodiscard]] std::optional<LoopId> find_loop(std::string_view loop) const;
  [[nodiscard]] std::optional<StatementId> find_statement(std::string_view statement) const;
  [[nodiscard]] LoopId loop(std::string_view name) const;            ///< finds it, or throws Error that lists all
  [[nodiscard]] StatementId statement(std::string_view name) const;  ///< finds it, or throws Error that lists all
  [[nodiscard]] const MemoryArray* find_array(std::string_view array) const;
  [[nodiscard]] bool is_temporary(std::string_view array) const { return find_array(array) == nullptr; }
  /// Returns true if the statement comes after a loop that does not contain it; see above.
  [[nodiscard]] bool stands_after(StatementId statement, LoopId loop) const;
  /// Lists the names of all arrays, by first use.
  [[nodiscard]] std::vector<std::string> array_names() const;
};

/// Compares everything but positions in files.
[[nodiscard]] bool operator==(const Nest& a, const Nest& b);

/// The functions of the expression language.
struct Function {
  std::string_view name;
  std::size_t operands;
};
[[nodiscard]] const std::vector<Function>& functions();
[[nodiscard]] const Function* find_function(std::string_view name);

/// Calls f(Reference&) on every reference of an expression, left to right.
template <class E, class F>
void for_each_reference(E& expression, F&& f) {
  if (expression.kind == Expression::Kind::reference) f(expression.reference);
  for (auto& operand : expression.operands) for_each_reference(operand, f);
}

[[nodiscard]] inline const Statement& statement_of(const Nest& nest, StatementId id) { return nest.statements[at(id)]; }
[[nodiscard]] inline const std::string& loop_name(const Nest& nest, LoopId id) { return nest.loops[at(id)].name; }

/// Returns the names of the loops, by LoopId.
[[nodiscard]] std::vector<std::string> loop_names(const Nest& nest);

/// Checks every rule: names, ranks, subscripts of loops that the statement is in, no statement outside a loop between
/// two that are in it, temporaries written before they are read, no more than `max_loops` loops. Throws Error at the
/// offending place.
void check(const Nest& nest);

constexpr std::size_t max_loops = 64;
constexpr std::size_t max_statements = 512;

}  // namespace napkin::internal::dependence
