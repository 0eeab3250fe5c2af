#pragma once
// These functions make expressions and names: larger(a, b) is max(a, b), and Names::fresh("i") the first of i, i2, i3
// that is free. Internal to the folder.

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/dependence/nest.hpp"

namespace napkin::internal::dependence {

inline Expression number(double value) {
  Expression e;
  e.number = value < 0 ? -value : value;
  if (!(value < 0)) return e;
  Expression negative;
  negative.kind = Expression::Kind::negate;
  negative.operands.push_back(std::move(e));
  return negative;
}

inline Expression use(Reference reference) {
  Expression e;
  e.kind = Expression::Kind::reference;
  e.reference = std::move(reference);
  return e;
}

inline Expression both(Expression::Kind kind, Expression a, Expression b) {
  Expression e;
  e.kind = kind;
  e.operands.push_back(std::move(a));
  e.operands.push_back(std::move(b));
  return e;
}
inline Expression operator+(Expression a, Expression b) {
  return both(Expression::Kind::add, std::move(a), std::move(b));
}
inline Expression operator-(Expression a, Expression b) {
  return both(Expression::Kind::subtract, std::move(a), std::move(b));
}
inline Expression operator*(Expression a, Expression b) {
  return both(Expression::Kind::multiply, std::move(a), std::move(b));
}
inline Expression operator/(Expression a, Expression b) {
  return both(Expression::Kind::divide, std::move(a), std::move(b));
}
inline Expression operator-(Expression a) {
  Expression e;
  e.kind = Expression::Kind::negate;
  e.operands.push_back(std::move(a));
  return e;
}

inline Expression call(const char* function, Expression a) {
  Expression e;
  e.kind = Expression::Kind::call;
  e.function = function;
  e.operands.push_back(std::move(a));
  return e;
}
inline Expression larger(Expression a, Expression b) {
  Expression e = call("max", std::move(a));
  e.operands.push_back(std::move(b));
  return e;
}
/// Returns the expression `values` read at the row that `table` names.
inline Expression row_at(Expression values, Expression table) {
  Expression e = call("row_at", std::move(values));
  e.operands.push_back(std::move(table));
  return e;
}

/// Names that differ from each other and from the words of the language.
class Names {
 public:
  std::string fresh(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 2; name == "infinity" || find_function(name) != nullptr || !taken_.insert(name).second; ++i) {
      name = wanted + "_" + std::to_string(i);
    }
    return name;
  }

 private:
  std::set<std::string> taken_;
};

/// Returns the expression of a diagram's map applied to x.
[[nodiscard]] Expression map_of(const std::string& function, const Expression& x);

}  // namespace napkin::internal::dependence
