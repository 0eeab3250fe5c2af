#include "model/fusion/gradient.hpp"

#include <algorithm>
#include <map>

#include "model/base/error.hpp"
#include "model/fusion/accumulator.hpp"
#include "model/fusion/gradient_writer.hpp"

namespace napkin::internal {
namespace {

using gradients::GradientWriter;

bool is_number(const Array& array) {
  return !array.type || (*array.type != DType::i32 && *array.type != DType::i8 && *array.type != DType::i4);
}

/// Explains why an input has no gradient; "" if it has one.
std::string without_gradient(const Diagram& d, ArrayId input) {
  const Array& array = d.arrays[at(input)];
  if (d.is_table(input)) return array.name + ", which names rows";
  if (!is_number(array)) return array.name + ", which holds whole numbers";
  if (!array.reindexed.empty()) return array.name + ", whose rows are chosen: it would be added up at those rows";
  return "";
}

class Differentiator {
 public:
  explicit Differentiator(const Diagram& diagram)
      : w_(diagram), outputs_(diagram.outputs), terms_(w_.forward().arrays.size()) {}

  Gradient run() {
    Gradient out;
    const Diagram given = w_.forward();
    depends_.assign(given.arrays.size(), false);
    for (ArrayId id : given.inputs) {
      const std::string reason = without_gradient(given, id);
      depends_[at(id)] = reason.empty();
      if (!reason.empty()) out.left_out.push_back(reason);
    }
    for (const Operation& op : given.operations) {
      const bool any = std::any_of(op.inputs.begin(), op.inputs.end(), [&](ArrayId in) { return depends_[at(in)]; });
      for (ArrayId id : op.outputs) depends_[at(id)] = any;
    }
    for (std::size_t i = 0; i < given.operations.size(); ++i) store_results(static_cast<OpId>(i));
    for (ArrayId id : outputs_) {
      if (depends_[at(id)]) terms_[at(id)].push_back(w_.given(id));
    }
    for (std::size_t i = given.operations.size(); i-- > 0;) operation(static_cast<OpId>(i));
    for (ArrayId id : given.inputs) {
      if (!depends_[at(id)]) continue;
      const auto sum = total(id);
      if (!sum) {
        out.left_out.push_back(name(id) + ", on which no output depends");
        continue;
      }
      w_.output(w_.spread(*sum, array(id).axes, "d" + name(id)), w_.gradient_name(id));
    }
    if (!w_.has_outputs())
      throw Error(given.name, "no input has a gradient", "an input of numbers that is read along its own axes");
    out.backward = w_.finish();
    out.forward = w_.forward();
    return out;
  }

 private:
  [[nodiscard]] const Operation& op(OpId id) const { return w_.forward().operations[at(id)]; }
  [[nodiscard]] const Array& array(ArrayId id) const { return w_.forward().arrays[at(id)]; }
  [[nodiscard]] const std::string& name(ArrayId id) const { return array(id).name; }

  /// Returns the gradient of an array, the sum of the contributions of the operations that take it, which reverse order
  /// visits first; nothing if there is none.
  std::optional<ArrayId> total(ArrayId id) {
    std::vector<ArrayId>& terms = terms_[at(id)];
    if (terms.empty()) return std::nullopt;
    if (terms.size() > 1) terms = {w_.apply(OpKind::add, terms, "d" + name(id))};
    return terms[0];
  }

  /// Returns all axes that the operation runs over.
  [[nodiscard]] std::set<AxisId> space(const Operation& f) const {
    std::set<AxisId> out(array(f.outputs[0]).axes.begin(), array(f.outputs[0]).axes.end());
    for (ArrayId in : f.inputs) out.insert(array(in).axes.begin(), array(in).axes.end());
    return out;
  }

  /// Adds the product of `terms`, summed down to the operand's axes, to the operand's gradient.
  void contribute(const Operation& f, std::size_t operand, const std::vector<ArrayId>& terms, const Scale& scale) {
    const ArrayId to = f.inputs[operand];
    terms_[at(to)].push_back(w_.sum_of_product(terms, space(f), array(to).axes, scale, "d" + name(to)));
  }

  /// Returns the gradient of an operation's result where its mask leaves it, 0 elsewhere.
  ArrayId unmasked(const Operation& f, ArrayId gradient) {
    if (!f.mask) return gradient;
    const ArrayId out = f.outputs[0];
    Operation masked;
    masked.kind = OpKind::map;
    masked.function = "identity";
    masked.mask = f.mask;
    masked.inputs = {w_.spread(gradient, array(out).axes, "d" + name(out))};
    return w_.apply(std::move(masked), "d" + name(out));
  }

  void operation(OpId id) {
    const Operation f = op(id);
    if (!depends_[at(f.outputs[0])]) return;
    if (f.kind == OpKind::softmax) return softmax(id);
    const auto gradient = total(f.outputs[0]);
    if (!gradient) return;
    for (std::size_t i = 0; i < f.inputs.size(); ++i) {
      if (depends_[at(f.inputs[i])]) operand(f, i, *gradient);
    }
  }

  void operand(const Operation& f, std::size_t i, ArrayId gradient) {
    switch (f.kind) {
      case OpKind::contract: return contribute(f, i, with_others(f, i, gradient), f.scale);
      case OpKind::multiply: return contribute(f, i, with_others(f, i, unmasked(f, gradient)), {});
      case OpKind::sum: return contribute(f, i, {gradient}, f.scale);
      case OpKind::add:
      case OpKind::copy: return contribute(f, i, {gradient}, {});
      case OpKind::subtract: return contribute(f, i, {gradient}, Scale{i == 0 ? 1.0 : -1.0, std::nullopt, 0, 1});
      case OpKind::divide: return i == 0 ? dividend(f, gradient) : divisor(f, gradient);
      case OpKind::max: return maximum(f, gradient);
      case OpKind::map: return map(f, gradient);
      case OpKind::softmax: return;
      case OpKind::fold:
      case OpKind::scan:
        throw Error(f.location, "", "fold " + f.function + " (" + name(f.outputs[0]) + ") has no derivative here",
                    "operations that have one");
    }
  }

  std::vector<ArrayId> with_others(const Operation& f, std::size_t i, ArrayId gradient) {
    std::vector<ArrayId> out{gradient};
    for (std::size_t j = 0; j < f.inputs.size(); ++j) {
      if (j != i) out.push_back(w_.value(f.inputs[j]));
    }
    return out;
  }

  void dividend(const Operation& f, ArrayId gradient) {
    contribute(f, 0, {w_.apply(OpKind::divide, {gradient, w_.value(f.inputs[1])}, "quotient_" + name(f.outputs[0]))},
               {});
  }
  /// Adds the gradient of A / B with respect to B: -(A / B) / B.
  void divisor(const Operation& f, ArrayId gradient) {
    const ArrayId to = f.inputs[1];
    const ArrayId sum =
        w_.sum_of_product({gradient, w_.value(f.outputs[0])}, space(f), array(to).axes, Scale{-1, {}, 0, 1}, "d");
    terms_[at(to)].push_back(w_.apply(OpKind::divide, {sum, w_.value(to)}, "d" + name(to)));
  }

  /// Passes the gradient on to the largest elements; if several are equal, each gets all of it.
  void maximum(const Operation& f, ArrayId gradient) {
    const ArrayId below =
        w_.apply(OpKind::subtract, {w_.value(f.inputs[0]), w_.value(f.outputs[0])}, "below_" + name(f.outputs[0]));
    const ArrayId largest = w_.map("is_zero", below, {}, "largest_" + name(f.outputs[0]));
    contribute(f, 0, {gradient, largest}, {});
  }

  /// Adds the gradient of a map. Uses the function's own value if that saves another function: (e^u)' = e^u, (u^p)' = p
  /// u^p / u.
  void map(const Operation& f, ArrayId gradient) {
    static const std::map<std::string, double> powers = {{"sqrt", 0.5}, {"rsqrt", -0.5}, {"reciprocal", -1.0}};
    const ArrayId in = f.inputs[0], out = f.outputs[0];
    const auto times = [&](double factor, const Scale& scale) {
      return *gradients::composed(Scale{factor, std::nullopt, 0, 1}, scale);
    };
    if (f.function == "exp") return contribute(f, 0, {gradient, w_.value(out)}, f.scale);
    if (is_linear_map(f.function))
      return contribute(f, 0, {unmasked(f, gradient)}, times(f.function == "negate" ? -1 : 1, f.scale));
    if (f.function == "log")
      return contribute(f, 0, {w_.apply(OpKind::divide, {unmasked(f, gradient), w_.value(in)}, "d" + name(in))}, {});
    if (f.function == "square")
      return contribute(f, 0, {unmasked(f, gradient), w_.value(in)}, times(2, *gradients::composed(f.scale, f.scale)));
    if (const auto power = powers.find(f.function); power != powers.end()) {
      const ArrayId product =
          w_.sum_of_product({gradient, w_.value(out)}, space(f), array(in).axes, times(power->second, {}), "d");
      terms_[at(in)].push_back(w_.apply(OpKind::divide, {product, w_.value(in)}, "d" + name(in)));
      return;
    }
    slope(f, gradient);
  }

  void slope(const Operation& f, ArrayId gradient) {
    const std::string function = slope_of(f.function);
    if (function.empty()) {
      if (is_flat(f.function)) return;
      throw Error(f.location, "", "map " + f.function + " (" + name(f.outputs[0]) + ") has no derivative here",
                  "a function that has one");
    }
    Operation steep;
    steep.kind = OpKind::map;
    steep.function = function;
    steep.scale = f.scale;
    steep.mask = f.mask;
    steep.inputs = {w_.value(f.inputs[0])};
    contribute(f, 0, {gradient, w_.apply(std::move(steep), "slope_" + name(f.outputs[0]))}, f.scale);
  }

  /// Adds the gradient of P = softmax(S) with log-sum-exp L: dS = P (dP - sum of P dP + dL).
  void softmax(OpId id) {
    const Operation f = op(id);
    const auto of_rows = total(f.outputs[1]);
    auto inner = total(f.outputs[0]);
    if (!inner && !of_rows) return;
    const ArrayId p = w_.value(f.outputs[0]);
    if (inner) {
      inner = w_.apply(OpKind::subtract, {*inner, row_sum(id, p, *inner)}, "centred_" + name(f.outputs[0]));
      if (of_rows) inner = w_.apply(OpKind::add, {*inner, *of_rows}, "centred_" + name(f.outputs[0]));
    }
    contribute(f, 0, {p, inner ? *inner : *of_rows}, f.scale);
  }

  /// Returns the sum of P dP over a row. If every operation that reads P is linear in it and keeps its rows, this
  /// equals the sum of O dO over their results O (Euler's identity of linear functions), which needs no second pass
  /// over the row.
  ArrayId row_sum(OpId id, ArrayId p, ArrayId gradient) {
    const std::vector<AxisId> rows = state_axes(w_.forward(), id);
    const ArrayId out = op(id).outputs[0];
    std::vector<ArrayId> sums;
    if (const auto results = linear_results(id)) {
      for (ArrayId result : *results) {
        const auto own = total(result);
        if (!own) continue;
        const std::set<AxisId> all(array(result).axes.begin(), array(result).axes.end());
        sums.push_back(w_.sum_of_product({*own, w_.value(result)}, all, rows, {}, "Delta"));
      }
    }
    if (sums.empty()) {
      const std::set<AxisId> all(array(out).axes.begin(), array(out).axes.end());
      return w_.sum_of_product({p, gradient}, all, rows, {}, "Delta");
    }
    return sums.size() == 1 ? sums[0] : w_.apply(OpKind::add, sums, "Delta");
  }

  /// Lets the forward diagram store the results that a softmax's row sums take.
  void store_results(OpId id) {
    if (op(id).kind != OpKind::softmax || !depends_[at(op(id).outputs[0])]) return;
    for (ArrayId result : linear_results(id).value_or(std::vector<ArrayId>{})) w_.store(result);
  }

  /// Returns the arrays without a softmax's own axes that linear operations alone make of its probabilities; nothing if
  /// another operation takes them.
  [[nodiscard]] std::optional<std::vector<ArrayId>> linear_results(OpId softmax) const {
    const Operation& f = op(softmax);
    const std::vector<AxisId> rows = state_axes(w_.forward(), softmax);
    std::vector<bool> linear(w_.forward().arrays.size(), false);
    linear[at(f.outputs[0])] = true;
    std::vector<ArrayId> results;
    for (const Operation& g : w_.forward().operations) {
      const auto operands = std::count_if(g.inputs.begin(), g.inputs.end(), [&](ArrayId in) { return linear[at(in)]; });
      if (operands == 0) continue;
      if (!is_linear(g, linear, static_cast<std::size_t>(operands))) return std::nullopt;
      if (std::any_of(rows.begin(), rows.end(), [&](AxisId row) { return g.owns(row); })) return std::nullopt;
      const ArrayId out = g.outputs[0];
      const bool carries = std::any_of(f.own.begin(), f.own.end(), [&](AxisId own) { return array(out).has(own); });
      if (carries)
        linear[at(out)] = true;
      else
        results.push_back(out);
    }
    const bool apart = std::any_of(outputs_.begin(), outputs_.end(), [&](ArrayId id) { return linear[at(id)]; });
    return apart ? std::nullopt : std::optional(results);
  }

  static bool is_linear(const Operation& g, const std::vector<bool>& linear, std::size_t operands) {
    switch (g.kind) {
      case OpKind::contract:
      case OpKind::multiply: return operands == 1;
      case OpKind::divide: return operands == 1 && linear[at(g.inputs[0])];
      case OpKind::add:
      case OpKind::subtract: return operands == g.inputs.size();
      case OpKind::map: return is_linear_map(g.function);
      case OpKind::sum:
      case OpKind::copy: return true;
      default: return false;
    }
  }

  GradientWriter w_;
  std::vector<ArrayId> outputs_;  // outputs of the question; the forward pass may store more
  /// Terms of an array's gradient, arrays of the backward pass, by array of the forward pass.
  std::vector<std::vector<ArrayId>> terms_;
  std::vector<bool> depends_;  // true if an array depends on an input with a gradient, by array of the forward pass
};

}  // namespace

Gradient gradient(const Diagram& diagram) { return Differentiator(diagram).run(); }

}  // namespace napkin::internal
