#pragma once
// A CaseBuilder makes random questions for the interpreter from a tape of numbers. Smaller numbers make a simpler
// question, so that shrinking the tape shrinks the question.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "model/fusion/accumulator.hpp"
#include "model/fusion/derive.hpp"
#include "tests/law/interpret_case.hpp"

namespace napkin::internal::testing {

/// A builder that adds operations to a diagram, and removes one that keeps x from streaming.
class CaseBuilder {
 public:
  explicit CaseBuilder(Tape& tape) : tape_(tape) {
    for (const char* name : {"q", "x", "d", "e", "h", "g"}) d_.axes.push_back({name, std::monostate{}, {}});
    d_.name = "random";
  }

  InterpretCase build() {
    const bool streaming = !tape_.chance(1);
    const bool scores = tape_.next(8) >= 3;
    if (scores) attention_like();
    const int more = 1 + tape_.next(scores ? 3 : 6);
    for (int i = 0; i < more; ++i) attempt(streaming);
    if (streaming) close_softmaxes();
    sinks_become_outputs();
    if (d_.outputs.size() == 1 && tape_.chance(1)) keep_another();
    drop_unused_axes();
    return question(streaming);
  }

 private:
  static constexpr AxisId Q = 0, X = 1, D = 2, E = 3, H = 4, G = 5;
  using Axes = std::vector<AxisId>;

  static bool contains(const Axes& axes, AxisId a) { return std::find(axes.begin(), axes.end(), a) != axes.end(); }
  const Axes& axes_of(ArrayId id) const { return d_.arrays[static_cast<std::size_t>(id)].axes; }

  ArrayId add_array(Axes axes, double bound) {
    d_.arrays.push_back({"A" + std::to_string(d_.arrays.size()), std::move(axes), {}});
    bounds_.push_back(bound);
    return static_cast<ArrayId>(d_.arrays.size()) - 1;
  }
  ArrayId add_input(Axes axes) {
    d_.inputs.push_back(add_array(std::move(axes), 1));
    return d_.inputs.back();
  }
  ArrayId add_operation(Operation op, const Axes& axes, double bound) {
    const ArrayId out = add_array(axes, bound);
    op.outputs = {out};
    d_.operations.push_back(std::move(op));
    return out;
  }

  ArrayId random_input() {
    Axes axes;
    for (AxisId a : {X, Q, D, E, H, G}) {
      if (axes.size() < 4 && tape_.chance(a == X || a == Q ? 5 : 2)) axes.push_back(a);
    }
    if (axes.empty()) axes.push_back(X);
    if (axes.size() > 1 && tape_.next(2)) std::swap(axes.front(), axes.back());
    return add_input(axes);
  }

  // Returns an existing array, preferably a late one, or a new input.
  ArrayId operand() {
    const int n = static_cast<int>(d_.arrays.size());
    const int back = tape_.next(5);
    if (back < 3 && back < n) return n - 1 - back;
    if (back == 3 && n > 0) return tape_.next(n);
    return random_input();
  }

  Axes union_of(const std::vector<ArrayId>& arrays) const {
    Axes all;
    for (ArrayId id : arrays) {
      for (AxisId a : axes_of(id)) {
        if (!contains(all, a)) all.push_back(a);
      }
    }
    return all;
  }

  // Adds scores, softmax and a contraction over x, with heads, as in attention, to which further operations are added.
  void attention_like() {
    Axes query = {Q, D}, key = {X, D}, value = {X, E};
    const int heads = tape_.next(4);  // none, shared keys, per-head keys and a shared group, both shared
    if (heads >= 1) query.insert(query.begin(), G);
    if (heads >= 2) query.insert(query.begin(), H);
    if (heads == 2) {
      key.insert(key.begin(), H);
      value.insert(value.begin(), H);
    }
    if (tape_.next(2)) value = {value.rbegin(), value.rend()};
    const ArrayId q = add_input(query), k = add_input(key);
    ArrayId s = emit(OpKind::contract, {q, k}, {D});
    if (tape_.chance(2)) s = emit(OpKind::map, {s}, {});
    const ArrayId p = emit(OpKind::softmax, {s}, {X});
    emit(OpKind::contract, {p, add_input(value)}, {X});
  }

  double bound_of(ArrayId id) const { return bounds_[static_cast<std::size_t>(id)]; }

  std::optional<std::array<AxisId, 2>> random_mask(const Axes& axes) {
    if (!contains(axes, Q) || !contains(axes, X) || !tape_.chance(7)) return std::nullopt;
    return tape_.chance(1) ? std::array<AxisId, 2>{X, Q} : std::array<AxisId, 2>{Q, X};
  }

  // Appends an operation, with attributes from the tape.
  ArrayId emit(OpKind kind, std::vector<ArrayId> inputs, Axes own) {
    Operation op;
    op.kind = kind;
    op.inputs = inputs;
    op.own = own;
    const Axes all = union_of(inputs);
    Axes axes;
    double bound = kind == OpKind::add || kind == OpKind::subtract ? 0 : 1;
    for (ArrayId in : inputs) {
      bound = kind == OpKind::add || kind == OpKind::subtract        ? bound + bound_of(in)
              : kind == OpKind::contract || kind == OpKind::multiply ? bound * bound_of(in)
                                                                     : bound_of(in);
    }
    for (AxisId a : all) {
      if (kind == OpKind::softmax || !contains(own, a)) axes.push_back(a);
      if (contains(own, a) && (kind == OpKind::contract || kind == OpKind::sum)) bound *= 8;
    }
    if (kind == OpKind::copy && tape_.next(2)) {
      for (AxisId a : {E, G}) {
        if (!contains(axes, a) && axes.size() < 4) axes.insert(axes.begin(), a);
      }
    }
    if (axes.size() > 1 && tape_.chance(2)) std::swap(axes[0], axes[1]);
    if (kind == OpKind::map) bound = choose_function(op, axes, bound);
    if (kind == OpKind::softmax) {
      op.mask = random_mask(axes);
      op.scale = Scale{tape_.next(3) * 0.75 + 0.5, std::nullopt, 0, 1};
      bound = 1;
    }
    if ((kind == OpKind::contract || kind == OpKind::sum) && tape_.chance(2)) op.scale = {1.0, D, -1, 2};
    return add_operation(op, axes, bound);
  }

  double choose_function(Operation& op, const Axes& axes, double bound) {
    static const std::vector<std::string> tame = {"identity", "negate", "relu",    "gelu",
                                                  "silu",     "tanh",   "sigmoid", "abs"};
    const int choice = tape_.next(11);
    if (choice >= 9 && bound <= 8) {
      op.function = "exp";
      op.mask = random_mask(axes);
      return 3000;
    }
    if (choice == 8 && bound <= 64) {
      op.function = "square";
      return bound * bound;
    }
    op.function = tame[static_cast<std::size_t>(choice) % tame.size()];
    return op.function == "tanh" || op.function == "sigmoid" ? 1 : bound;
  }

  void attempt(bool streaming) {
    const Diagram before = d_;
    const std::vector<double> bounds = bounds_;
    propose();
    const ArrayId out = d_.operations.back().outputs[0];
    bool fine = axes_of(out).size() <= 4 && bound_of(out) < 1e9;
    for (ArrayId in : d_.operations.back().inputs)
      fine = fine && union_of(d_.operations.back().inputs).size() <= 5 && in >= 0;
    if (fine && streaming) {
      d_.outputs.clear();
      const AxisAnalysis found = analyse(d_, X, AxisUse::stream);
      fine = !found.blocker;
    }
    if (fine) return;
    d_ = before;
    bounds_ = bounds;
  }

  void propose() {
    const ArrayId first = operand();
    const Axes axes = axes_of(first);
    const int kind = tape_.next(12);
    if (axes.empty()) return void(emit(OpKind::multiply, {first, operand()}, {}));
    const AxisId own = contains(axes, X) && tape_.chance(5)
                           ? X
                           : axes[static_cast<std::size_t>(tape_.next(static_cast<int>(axes.size())))];
    switch (kind) {
      case 0: emit(OpKind::map, {first}, {}); return;
      case 1:
      case 2:
      case 3: emit(OpKind::contract, {first, operand()}, {own}); return;
      case 4: emit(OpKind::contract, {first, operand(), operand()}, {own}); return;
      case 5: emit(OpKind::sum, {first}, {own}); return;
      case 6: emit(OpKind::max, {first}, {own}); return;
      case 7: emit(OpKind::add, {first, operand()}, {}); return;
      case 8: emit(OpKind::multiply, {first, operand()}, {}); return;
      case 9: emit(OpKind::subtract, {first, operand()}, {}); return;
      case 10: emit(OpKind::copy, {first}, {}); return;
      default: {
        const ArrayId out = emit(OpKind::softmax, {first}, {own});
        if (tape_.chance(2)) add_log_sum_exp(out, own);
      }
    }
  }

  void add_log_sum_exp(ArrayId probabilities, AxisId own) {
    Axes axes;
    for (AxisId a : axes_of(probabilities)) {
      if (a != own) axes.push_back(a);
    }
    if (axes.empty()) return;
    // -infinity in rows that see nothing: too large for whatever would make a NaN of it.
    const bool masked = d_.operations.back().mask.has_value();
    const double bound = masked ? 1e10 : bound_of(d_.operations.back().inputs[0]) * 2 + 3;
    d_.operations.back().outputs.push_back(add_array(axes, bound));
  }

  bool is_sink(ArrayId id) const { return d_.consumers(id).empty() && !d_.is_input(id); }

  // Returns true for probabilities that no operation reads, which is allowed if the softmax has a log-sum-exp.
  bool for_log_sum_exp_alone(ArrayId id) {
    const auto op = d_.producer(id);
    if (!op || d_.operations[static_cast<std::size_t>(*op)].outputs.size() != 2) return false;
    if (d_.operations[static_cast<std::size_t>(*op)].outputs[0] != id || tape_.next(2) == 0) return false;
    unwanted_.push_back(id);
    return true;
  }

  // Contracts probabilities that no operation reduces over x yet: a softmax over x streams only then.
  void close_softmaxes() {
    d_.outputs.clear();
    const AxisAnalysis found = analyse(d_, X, AxisUse::stream);
    const auto n = static_cast<ArrayId>(d_.arrays.size());
    for (ArrayId id = 0; id < n; ++id) {
      const ArrayStatus& status = found.arrays[static_cast<std::size_t>(id)];
      if (!is_sink(id) || status.kind != ArrayStatus::Kind::chunk || !status.pending) continue;
      if (for_log_sum_exp_alone(id)) continue;
      if (tape_.next(2)) {
        emit(OpKind::sum, {id}, {X});
      } else {
        emit(OpKind::contract, {id, add_input({X, E})}, {X});
      }
    }
  }

  void sinks_become_outputs() {
    d_.outputs.clear();
    for (std::size_t i = 0; i < d_.arrays.size(); ++i) {
      const auto id = static_cast<ArrayId>(i);
      const bool unwanted = std::find(unwanted_.begin(), unwanted_.end(), id) != unwanted_.end();
      if (is_sink(id) && !unwanted && !for_log_sum_exp_alone(id)) d_.outputs.push_back(id);
    }
    if (d_.operations.empty()) {
      const ArrayId in = d_.inputs.empty() ? add_input({Q, X}) : d_.inputs[0];
      d_.outputs.push_back(emit(OpKind::map, {in}, {}));
    }
    drop_unused_inputs();
  }

  void drop_unused_inputs() {
    for (std::size_t i = 0; i < d_.arrays.size();) {
      const auto id = static_cast<ArrayId>(i);
      if (!d_.is_input(id) || !d_.consumers(id).empty()) {
        ++i;
        continue;
      }
      d_.arrays.erase(d_.arrays.begin() + id);
      d_.inputs.erase(std::find(d_.inputs.begin(), d_.inputs.end(), id));
      const auto shift = [&](std::vector<ArrayId>& ids) {
        for (ArrayId& a : ids) a -= a > id ? 1 : 0;
      };
      shift(d_.inputs);
      shift(d_.outputs);
      for (Operation& op : d_.operations) {
        shift(op.inputs);
        shift(op.outputs);
      }
    }
  }

  // Makes a consumed array an output as well, if streaming allows it.
  void keep_another() {
    const OpId op = tape_.next(static_cast<int>(d_.operations.size()));
    const ArrayId out = d_.operations[static_cast<std::size_t>(op)].outputs[0];
    if (d_.is_output(out)) return;
    d_.outputs.push_back(out);
    if (!analyse(d_, X, AxisUse::stream).legal()) d_.outputs.pop_back();
  }

  void drop_unused_axes() {
    std::vector<AxisId> to(d_.axes.size(), -1);
    std::vector<Axis> kept;
    for (std::size_t i = 0; i < d_.axes.size(); ++i) {
      const auto a = static_cast<AxisId>(i);
      const bool used =
          std::any_of(d_.arrays.begin(), d_.arrays.end(), [&](const Array& array) { return array.has(a); });
      if (!used) continue;
      to[i] = static_cast<AxisId>(kept.size());
      kept.push_back(d_.axes[i]);
    }
    d_.axes = kept;
    const auto rename = [&](AxisId& a) { a = to[static_cast<std::size_t>(a)]; };
    for (Array& a : d_.arrays) std::for_each(a.axes.begin(), a.axes.end(), rename);
    for (Operation& op : d_.operations) {
      std::for_each(op.own.begin(), op.own.end(), rename);
      if (op.mask) std::for_each(op.mask->begin(), op.mask->end(), rename);
      if (op.scale.axis && to[static_cast<std::size_t>(*op.scale.axis)] < 0) op.scale = Scale{0.5, std::nullopt, 0, 1};
      if (op.scale.axis) rename(*op.scale.axis);
    }
  }

  std::vector<AxisRole> roles(bool streaming) {
    std::vector<AxisRole> roles(d_.axes.size(), AxisRole::whole);
    const auto x = d_.find_axis("x");
    if (streaming && x && analyse(d_, *x, AxisUse::stream).legal() && !tape_.chance(1)) {
      roles[static_cast<std::size_t>(*x)] = AxisRole::stream;
    }
    for (std::size_t i = 0; i < roles.size(); ++i) {
      if (roles[i] != AxisRole::whole) continue;
      const auto axis = static_cast<AxisId>(i);
      const bool consumed =
          std::any_of(d_.operations.begin(), d_.operations.end(), [&](const Operation& op) { return op.owns(axis); });
      if (!tape_.chance(consumed ? 4 : 7)) continue;
      if (!consumed || analyse(d_, axis, AxisUse::split).legal()) roles[i] = AxisRole::group;
    }
    return roles;
  }

  InterpretCase question(bool streaming) {
    check(d_);
    InterpretCase c{derive(d_, roles(streaming)), {}, {}, {}};
    for (const Axis& axis : d_.axes) {
      const bool long_axis = axis.name == "x" || axis.name == "q";
      c.problem.sizes.push_back(1 + tape_.next(long_axis ? 9 : axis.name == "d" || axis.name == "e" ? 3 : 4));
    }
    switch (tape_.next(5)) {
      case 0: break;
      case 1: c.problem.mask = {Mask::Kind::window, tape_.next(4), tape_.next(4)}; break;
      case 2: c.problem.mask = {Mask::Kind::prefix, 1 + tape_.next(4), 0}; break;
      default: c.problem.mask = {Mask::Kind::causal, 0, 0};
    }
    c.partition.group = c.problem.sizes;
    for (std::size_t i = 0; i < c.problem.sizes.size(); ++i) {
      const auto size = static_cast<int>(c.problem.sizes[i].get());
      if (c.streamed.grouped(static_cast<AxisId>(i))) c.partition.group[i] = 1 + tape_.next(size);
      if (c.streamed.stream == static_cast<AxisId>(i)) c.partition.chunk = 1 + tape_.next(size);
    }
    if (tape_.chance(3)) c.nested = divided(c);
    return c;
  }

  Partition divided(const InterpretCase& c) {
    const auto divisor_of = [&](Count n) {
      std::int64_t part = n.get() - tape_.next(static_cast<int>(n.get()));
      while (n.get() % part != 0) --part;
      return Count(part);
    };
    Partition p = c.partition;
    for (std::size_t i = 0; i < p.group.size(); ++i) {
      if (c.streamed.roles[i] == AxisRole::group) p.group[i] = divisor_of(p.group[i]);
    }
    p.chunk = divisor_of(p.chunk);
    return p;
  }

  Tape& tape_;
  Diagram d_;
  std::vector<double> bounds_;
  std::vector<ArrayId> unwanted_;
};

inline InterpretCase case_from(const std::vector<std::uint16_t>& numbers) {
  Tape tape(numbers);
  return CaseBuilder(tape).build();
}

}  // namespace napkin::internal::testing
