#include "model/dependence/joining.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "model/base/error.hpp"
#include "model/dependence/execute.hpp"
#include "model/dependence/text.hpp"

namespace napkin::internal::dependence {
namespace {

using Form = Expression::Kind;
using Values = std::map<std::string, double>;

constexpr int identity_samples = 16;
constexpr double identity_tolerance = 1e-9;

Expression symbol_of(const std::string& name) {
  Expression out;
  out.kind = Form::reference;
  out.reference.array = name;
  return out;
}

Expression constant(double value) {
  Expression out;
  out.number = value;
  return out;
}

bool is_one(const Expression& e) { return e.kind == Form::number && e.number == 1; }

Expression binary(Form kind, Expression a, Expression b) {
  if (kind == Form::multiply && is_one(a)) return b;
  if ((kind == Form::multiply || kind == Form::divide) && is_one(b)) return a;
  Expression out;
  out.kind = kind;
  out.operands = {std::move(a), std::move(b)};
  return out;
}

Expression negated(Expression a) {
  Expression out;
  out.kind = Form::negate;
  out.operands = {std::move(a)};
  return out;
}

std::set<std::string> names_of(const Expression& e) {
  std::set<std::string> out;
  for_each_reference(e, [&](const Reference& r) { out.insert(r.array); });
  return out;
}

/// An expression as factor * x + rest; absent parts are 0.
struct Affine {
  std::optional<Expression> factor, rest;
};

using Part = std::optional<Expression>;

Part scaled(Form kind, const Part& part, const Expression& by) {
  return part ? Part(binary(kind, *part, by)) : std::nullopt;
}

Part added(Form kind, const Part& a, const Part& b) {
  if (!b) return a;
  if (!a) return kind == Form::subtract ? negated(*b) : *b;
  return binary(kind, *a, *b);
}

/// Writes an expression as affine in a name; nothing if it is not.
std::optional<Affine> affine_in(const Expression& e, const std::string& x) {
  if (!names_of(e).contains(x)) return Affine{std::nullopt, e};
  if (e.kind == Form::reference) return Affine{constant(1), std::nullopt};
  if (e.operands.empty() || e.kind == Form::call) return std::nullopt;
  const std::optional<Affine> a = affine_in(e.operands[0], x);
  if (!a) return std::nullopt;
  if (e.kind == Form::negate) {
    const auto minus = [](const Part& part) { return part ? Part(negated(*part)) : std::nullopt; };
    return Affine{minus(a->factor), minus(a->rest)};
  }
  const std::optional<Affine> b = affine_in(e.operands[1], x);
  if (!b) return std::nullopt;
  if (e.kind == Form::add || e.kind == Form::subtract)
    return Affine{added(e.kind, a->factor, b->factor), added(e.kind, a->rest, b->rest)};
  if (!b->factor) return Affine{scaled(e.kind, a->factor, e.operands[1]), scaled(e.kind, a->rest, e.operands[1])};
  if (e.kind == Form::multiply && !a->factor)
    return Affine{scaled(e.kind, b->factor, e.operands[0]), scaled(e.kind, b->rest, e.operands[0])};
  return std::nullopt;
}

/// An array that a loop carries: the statement that stores it, and the value it is stored from.
struct State {
  std::string array;
  StatementId stores = 0;
  std::string temporary;  ///< name of the stored temporary; empty: an expression is stored
  Expression update;  ///< new value, in terms of the states' old values X_1 and new values X, and of values that do not
                      ///< depend on states
};

std::string old_name(const std::string& array) { return array + "_1"; }

/// Finds the last statement before `before` that assigns an array.
std::optional<StatementId> writer(const Nest& nest, const std::string& array, StatementId before) {
  for (StatementId s = before - 1; s >= 0; --s) {
    if (statement_of(nest, s).target.array == array) return s;
  }
  return std::nullopt;
}

/// Returns true if a dependence passes a value between iterations of a loop. A temporary that each iteration writes
/// before reading it passes none.
bool carries_value(const Nest& nest, const Dependence& d, LoopId loop) {
  if (d.kind != Kind::raw || d.carrier() != loop) return false;
  return !nest.is_temporary(d.source.array) || !writer(nest, d.source.array, d.to);
}

/// The joining of one loop.
class Joiner {
 public:
  Joiner(const Nest& nest, LoopId loop) : nest_(nest) { out_.loop = loop; }

  Joining run(const std::vector<Dependence>& dependences) {
    for (const Dependence& d : dependences) {
      if (!carries_value(nest_, d, out_.loop)) continue;
      if (!add_state(d))
        return refused(print_reference(nest_, d.source) + " is not one cell that every iteration updates");
    }
    for (State& state : states_) {
      const Statement& stores = statement_of(nest_, state.stores);
      const auto made = state.temporary.empty() ? std::nullopt : writer(nest_, state.temporary, state.stores);
      const StatementId at = made.value_or(state.stores);
      const auto update = inlined(made ? statement_of(nest_, *made).value : stores.value, at);
      if (!update) return refused(state.array + " takes values of an iteration before");
      state.update = *update;
    }
    if (const std::string early = taken_on_the_way(); !early.empty())
      return refused(early + " reads the running value inside the loop, as a prefix sum does");
    while (out_.arrays.size() < states_.size()) {
      if (!join_next()) return refused(blocked() + " is neither a maximum nor a sum that can be rescaled");
    }
    return std::move(out_);
  }

 private:
  Joining refused(const std::string& why) {
    out_.arrays.clear();
    out_.why_not = why;
    return std::move(out_);
  }

  /// Adds the array of a carried dependence. Returns false unless it is a single cell in all of the loop's iterations.
  bool add_state(const Dependence& d) {
    const MemoryArray* array = nest_.find_array(d.source.array);
    if (array == nullptr || !array->initial || d.source.uses(out_.loop) || d.sink != d.source) return false;
    const auto same =
        std::find_if(states_.begin(), states_.end(), [&](const State& s) { return s.array == array->name; });
    if (same != states_.end()) return same->stores == d.from;
    const Expression& value = statement_of(nest_, d.from).value;
    const bool temporary = value.kind == Form::reference && nest_.is_temporary(value.reference.array);
    states_.push_back({array->name, d.from, temporary ? value.reference.array : "", {}});
    return true;
  }

  /// Replaces the temporaries of an expression by their expressions, down to states and to values that no state
  /// touches.
  [[nodiscard]] std::optional<Expression> inlined(Expression e, StatementId at) const {
    if (e.kind == Form::reference) return value_of(e.reference, at);
    for (Expression& operand : e.operands) {
      auto value = inlined(operand, at);
      if (!value) return std::nullopt;
      operand = std::move(*value);
    }
    return e;
  }

  [[nodiscard]] std::optional<Expression> value_of(const Reference& r, StatementId at) const {
    for (const State& state : states_) {
      if (r.array == state.temporary) return symbol_of(state.array);
      if (r.array == state.array) return symbol_of(state.stores < at ? state.array : old_name(state.array));
    }
    if (!nest_.is_temporary(r.array)) return symbol_of(print_reference(nest_, r));
    const auto made = writer(nest_, r.array, at);
    return made ? inlined(statement_of(nest_, *made).value, *made) : std::nullopt;
  }

  /// Returns an array that the loop stores in each iteration from carried values, as a prefix sum does, so that parts
  /// cannot be joined; "" if there is none.
  [[nodiscard]] std::string taken_on_the_way() const {
    for (std::size_t s = 0; s < nest_.statements.size(); ++s) {
      const Statement& statement = nest_.statements[s];
      const std::string& array = statement.target.array;
      const bool state =
          std::any_of(states_.begin(), states_.end(), [&](const State& one) { return one.array == array; });
      if (state || !statement.in(out_.loop) || nest_.is_temporary(array)) continue;
      const auto value = inlined(statement.value, static_cast<StatementId>(s));
      if (!value || !free_of_states(*value)) return array;
    }
    return "";
  }

  [[nodiscard]] bool is_joined(const std::string& array) const {
    return std::any_of(out_.arrays.begin(), out_.arrays.end(), [&](const JoinedArray& a) { return a.array == array; });
  }

  [[nodiscard]] std::string blocked() const {
    for (const State& state : states_) {
      if (!is_joined(state.array)) return state.array;
    }
    return "";
  }

  bool join_next() {
    for (const State& state : states_) {
      if (is_joined(state.array)) continue;
      auto by = extreme(state);
      if (!by) by = rescaled(state);
      if (!by) continue;
      out_.arrays.push_back({state.array, std::move(*by)});
      return true;
    }
    return false;
  }

  /// Joins x = max(x, e) or min(x, e) where e does not depend on what is carried.
  [[nodiscard]] std::optional<Expression> extreme(const State& state) const {
    const Expression& e = state.update;
    if (e.kind != Form::call || (e.function != "max" && e.function != "min")) return std::nullopt;
    const auto own = std::find(e.operands.begin(), e.operands.end(), symbol_of(old_name(state.array)));
    if (own == e.operands.end() || !free_of_states(e.operands[own == e.operands.begin() ? 1 : 0])) return std::nullopt;
    Expression out = e;
    out.operands = {symbol_of(state.array + "_1"), symbol_of(state.array + "_2")};
    return out;
  }

  [[nodiscard]] bool free_of_states(const Expression& e) const {
    const std::set<std::string> names = names_of(e);
    return std::none_of(states_.begin(), states_.end(),
                        [&](const State& s) { return names.contains(s.array) || names.contains(old_name(s.array)); });
  }

  /// Joins x = c x + e where c depends on carried values alone, old and new, and e on no old ones.
  [[nodiscard]] std::optional<Expression> rescaled(const State& state) const {
    const auto affine = affine_in(state.update, old_name(state.array));
    const MemoryArray* array = nest_.find_array(state.array);
    if (!affine || !affine->factor || !affine->rest || *array->initial != 0) return std::nullopt;
    if (!of_joined_states(*affine->factor, state.array) || !of_new_states(*affine->rest)) return std::nullopt;
    if (!composes(*affine->factor, *affine->rest)) return std::nullopt;
    const auto part = [&](const std::string& which) {
      Expression factor = *affine->factor;
      for_each_reference(factor, [&](Reference& r) {
        for (const State& s : states_) {
          if (r.array == old_name(s.array)) {
            r.array = s.array + which;
            return;
          }
        }
      });
      return binary(Form::multiply, std::move(factor), symbol_of(state.array + which));
    };
    return binary(Form::add, part("_1"), part("_2"));
  }

  [[nodiscard]] bool of_joined_states(const Expression& factor, const std::string& own) const {
    const std::set<std::string> names = names_of(factor);
    return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      return std::any_of(states_.begin(), states_.end(), [&](const State& s) {
        if (name != s.array && name != old_name(s.array)) return false;
        return s.array != own && is_joined(s.array);
      });
    });
  }

  [[nodiscard]] bool of_new_states(const Expression& rest) const {
    const std::set<std::string> names = names_of(rest);
    return std::none_of(states_.begin(), states_.end(),
                        [&](const State& s) { return names.contains(old_name(s.array)); });
  }

  /// Tests c(y, y') c(y', y") = c(y, y") and e(y') c(y', y") = e(y") at arbitrary values.
  [[nodiscard]] bool composes(const Expression& factor, const Expression& rest) const {
    const Given arbitrary = arbitrary_values(1);
    std::set<std::string> names = names_of(rest);
    for (int sample = 0; sample < identity_samples; ++sample) {
      const auto positive = [&](const std::string& name, int which) {
        return 0.25 * (arbitrary(name, {sample, which}) + 3);
      };
      const auto between = [&](int from, int to) {
        Values values;
        for (const std::string& name : names) values[name] = arbitrary(name, {sample});
        for (const State& s : states_) {
          values[old_name(s.array)] = positive(s.array, from);
          values[s.array] = positive(s.array, to);
        }
        return values;
      };
      const auto equal = [](double a, double b) { return std::abs(a - b) <= identity_tolerance * (1 + std::abs(a)); };
      const double c = evaluate(factor, between(1, 2));
      if (!equal(evaluate(factor, between(0, 1)) * c, evaluate(factor, between(0, 2)))) return false;
      if (!equal(evaluate(rest, between(0, 1)) * c, evaluate(rest, between(0, 2)))) return false;
    }
    return true;
  }

  const Nest& nest_;
  std::vector<State> states_;
  Joining out_;
};

}  // namespace

std::vector<Operand> operands_of(const Nest& nest, StatementId statement) {
  std::vector<Operand> out;
  for (const Reference& r : statement_of(nest, statement).reads()) {
    if (std::any_of(out.begin(), out.end(), [&](const Operand& one) { return one.value == r; })) continue;
    Operand one{r, writer(nest, r.array, statement), {}};
    if (!one.by) one.by = writer(nest, r.array, static_cast<StatementId>(nest.statements.size()));
    if (one.by && nest.is_temporary(r.array)) {
      one.made_in = statement_of(nest, *one.by).loops;
    } else {
      for (LoopId loop = 0; loop < std::ssize(nest.loops); ++loop) {
        if (r.uses(loop)) one.made_in.push_back(loop);
      }
    }
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<Joining> joinings(const Nest& nest, const std::vector<Dependence>& dependences) {
  std::vector<Joining> out;
  for (LoopId loop = 0; loop < std::ssize(nest.loops); ++loop) {
    const bool carries = std::any_of(dependences.begin(), dependences.end(),
                                     [&](const Dependence& d) { return carries_value(nest, d, loop); });
    if (carries) out.push_back(Joiner(nest, loop).run(dependences));
  }
  return out;
}

double evaluate(const Expression& e, const Values& values) {
  if (e.kind == Form::number) return e.number;
  if (e.kind == Form::reference) {
    const auto value = values.find(e.reference.array);
    if (value == values.end()) throw Error(e.reference.array, "has no value", "one for each name");
    return value->second;
  }
  const double a = evaluate(e.operands[0], values);
  if (e.kind == Form::negate) return -a;
  const double b = e.operands.size() > 1 ? evaluate(e.operands[1], values) : 0;
  switch (e.kind) {
    case Form::add: return a + b;
    case Form::subtract: return a - b;
    case Form::multiply: return a * b;
    case Form::divide: return a / b;
    default: return applied(e.function, a, b);
  }
}

}  // namespace napkin::internal::dependence
