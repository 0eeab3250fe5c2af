#include "model/fusion/accumulator.hpp"

#include <algorithm>

#include "model/diagram/problem.hpp"

namespace napkin::internal {
namespace {

using Kind = ArrayStatus::Kind;

/// Refusal of a use of the axis by a rule of the table; analyse() catches it.
struct Refusal {
  OpId operation;
  std::string why;
};

class Analyser {
 public:
  Analyser(const Diagram& diagram, AxisId axis, AxisUse use) : d_(diagram), axis_(axis), use_(use) {
    result_.arrays.resize(d_.arrays.size());
    result_.phases.assign(d_.operations.size(), Phase::head);
    result_.accumulators.resize(d_.operations.size());
  }

  AxisAnalysis run() {
    try {
      inputs();
      for (std::size_t i = 0; i < d_.operations.size(); ++i) operation(static_cast<OpId>(i));
      outputs();
    } catch (const Refusal& refusal) {
      if (refusal.operation >= 0) result_.blocker = refusal.operation;
      result_.why = refusal.why;
    }
    return std::move(result_);
  }

 private:
  const Operation& op(OpId id) const { return d_.operations[static_cast<std::size_t>(id)]; }
  const Array& array(ArrayId id) const { return d_.arrays[static_cast<std::size_t>(id)]; }
  const ArrayStatus& status_of(ArrayId id) const { return result_.arrays[static_cast<std::size_t>(id)]; }
  ArrayStatus& status(ArrayId id) { return result_.arrays[static_cast<std::size_t>(id)]; }
  const std::string& axis_name() const { return d_.axes[static_cast<std::size_t>(axis_)].name; }
  std::string name(ArrayId id) const { return array(id).name; }
  std::string title(OpId id) const { return std::string(name_of(op(id).kind)) + " (" + name(op(id).outputs[0]) + ")"; }

  void inputs() {
    bool loaded = false;
    for (ArrayId id : d_.inputs) {
      if (!array(id).has(axis_)) continue;
      status(id).kind = Kind::chunk;
      loaded = true;
    }
    // An input must carry the axis: an axis that only a copy has needs no loop over chunks.
    if (!loaded) throw Refusal{-1, "no input carries " + axis_name() + ": there is nothing to walk"};
  }

  void operation(OpId id) {
    bool chunk = false, reduced = false;
    for (ArrayId in : op(id).inputs) {
      chunk = chunk || status(in).kind == Kind::chunk;
      reduced = reduced || status(in).kind == Kind::reduced;
    }
    const bool grows = array(op(id).outputs[0]).has(axis_);
    if (reduced && (chunk || grows)) two_passes(id);
    if (chunk) {
      result_.phases[static_cast<std::size_t>(id)] = Phase::loop;
      on_chunks(id);
    } else if (reduced) {
      result_.phases[static_cast<std::size_t>(id)] = Phase::tail;
      use_ == AxisUse::stream ? after_loop(id) : on_partials(id);
    } else if (grows) {  // a copy, along the axis, of an array that is complete before the loop
      result_.phases[static_cast<std::size_t>(id)] = Phase::loop;
      result_.accumulators[static_cast<std::size_t>(id)] = AccumulatorKind::concatenate;
      status(op(id).outputs[0]).kind = Kind::chunk;
    }
  }

  [[noreturn]] void two_passes(OpId id) {
    for (ArrayId in : op(id).inputs) {
      if (status(in).kind != Kind::reduced) continue;
      throw Refusal{id, title(id) + " needs " + name(in) + ", which is right only after all of " + axis_name() +
                            ", together with single " + (use_ == AxisUse::stream ? "chunks" : "parts") + " of " +
                            axis_name() + ": that takes two passes over " + axis_name()};
    }
    throw Refusal{id, title(id)};
  }

  /// Marks the results of an operation of the tail as complete: the tail first normalises those that are pending.
  void after_loop(OpId id) {
    for (ArrayId out : op(id).outputs) status(out).kind = Kind::reduced;
  }

  void on_chunks(OpId id) {
    const Operation& f = op(id);
    auto& accumulator = result_.accumulators[static_cast<std::size_t>(id)];
    if (f.kind == OpKind::softmax) return softmax(id);
    const std::optional<OpId> pending = pending_of(id);
    const ArrayId out = f.outputs[0];
    status(out).pending = pending;
    if (!f.owns(axis_)) {
      accumulator = AccumulatorKind::concatenate;
      status(out).kind = Kind::chunk;
      return;
    }
    if (f.kind == OpKind::fold || f.kind == OpKind::scan) return fold(id);
    accumulator = f.kind == OpKind::max ? AccumulatorKind::max : AccumulatorKind::sum;
    status(out).kind = Kind::reduced;
    status(out).combine = pending                 ? Combine::Kind::weighted
                          : f.kind == OpKind::max ? Combine::Kind::max
                                                  : Combine::Kind::sum;
  }

  void softmax(OpId id) {
    const Operation& f = op(id);
    for (ArrayId in : f.inputs) {
      if (status(in).pending) {
        throw Refusal{id, title(id) + " is applied to " + name(in) + " before the softmax of " +
                              name(op(*status(in).pending).outputs[0]) + " is normalised"};
      }
    }
    auto& accumulator = result_.accumulators[static_cast<std::size_t>(id)];
    for (ArrayId out : f.outputs) status(out).kind = Kind::chunk;
    if (!f.owns(axis_)) {
      accumulator = AccumulatorKind::concatenate;
      return;
    }
    accumulator = AccumulatorKind::online_softmax;
    status(f.outputs[0]).pending = id;
    if (f.outputs.size() > 2 && use_ == AxisUse::split) {
      throw Refusal{id, title(id) + " yields a maximum and a sum, which groups do not weigh: the log-sum-exp as the " +
                            "one second output combines"};
    }
    for (std::size_t i = 1; i < f.outputs.size(); ++i) {
      status(f.outputs[i]).kind = Kind::reduced;
      status(f.outputs[i]).combine = Combine::Kind::log_sum_exp;
    }
  }

  /// Marks a fold or a scan. Merging is associative, so a chunk of any length is merged with the state of all before
  /// it. (eq. 4.5)
  void fold(OpId id) {
    const bool each = op(id).kind == OpKind::scan;
    if (use_ == AxisUse::split) {
      throw Refusal{id, title(id) + " keeps a state of " + std::to_string(d_.fold_of(op(id)).state.size()) +
                            " values, which groups do not store for one another"};
    }
    result_.accumulators[static_cast<std::size_t>(id)] = each ? AccumulatorKind::scan : AccumulatorKind::fold;
    status(op(id).outputs[0]).kind = each ? Kind::chunk : Kind::reduced;
  }

  /// Returns the softmax whose normalisation is pending in an operand. The operation must be linear in that operand and
  /// keep its rows: then a factor a row may be applied later.
  std::optional<OpId> pending_of(OpId id) {
    const Operation& f = op(id);
    std::optional<OpId> sigma;
    std::size_t operands = 0;
    for (ArrayId in : f.inputs) {
      if (!status(in).pending) continue;
      ++operands;
      if (sigma && *sigma != *status(in).pending) {
        throw Refusal{id, title(id) + " mixes two softmaxes that are not normalised yet"};
      }
      sigma = status(in).pending;
    }
    if (!sigma) return sigma;
    const std::string unfinished = "the softmax of " + name(op(*sigma).outputs[0]) +
                                   " is not normalised before all of " + axis_name() + " is seen";
    linear_or_refuse(id, operands, unfinished);
    keeps_rows_or_refuse(id, *sigma, unfinished);
    return sigma;
  }

  void linear_or_refuse(OpId id, std::size_t operands, const std::string& unfinished) const {
    const Operation& f = op(id);
    switch (f.kind) {
      case OpKind::contract:
      case OpKind::multiply:
        if (operands > 1) throw Refusal{id, title(id) + " multiplies two unfinished factors: " + unfinished};
        return;
      case OpKind::divide:
        if (operands > 1 || status_of(f.inputs[1]).pending || status_of(f.inputs[1]).kind == Kind::reduced)
          throw Refusal{id, title(id) + " divides by an unfinished value: " + unfinished};
        return;
      case OpKind::add:
      case OpKind::subtract:
        if (operands < f.inputs.size()) {
          throw Refusal{id, title(id) + " adds a finished and an unfinished term: " + unfinished};
        }
        return;
      case OpKind::map:
        if (!is_linear_map(f.function)) {
          throw Refusal{id, "map " + f.function + " (" + name(f.outputs[0]) + ") is not linear: " + unfinished};
        }
        return;
      case OpKind::max:
      case OpKind::fold:
      case OpKind::scan:
      case OpKind::softmax: throw Refusal{id, title(id) + " is not linear: " + unfinished};
      case OpKind::sum:
      case OpKind::copy: return;
    }
  }

  void keeps_rows_or_refuse(OpId id, OpId sigma, const std::string& unfinished) const {
    for (AxisId row : state_axes(d_, sigma)) {
      if (op(id).owns(row)) {
        throw Refusal{id, title(id) + " sums over " + d_.axes[static_cast<std::size_t>(row)].name +
                              ", whose rows still need a rescale each: " + unfinished};
      }
    }
  }

  /// Checks an operation on partial results of a split: it must commute with the combine that comes later.
  void on_partials(OpId id) {
    const Operation& f = op(id);
    std::size_t partial = 0;
    ArrayStatus first;
    for (ArrayId in : f.inputs) {
      if (status(in).kind != Kind::reduced) continue;
      if (partial++ == 0) first = status(in);
      if (status(in).combine != first.combine || status(in).pending != first.pending) {
        throw Refusal{id, title(id) + " mixes partial results of " + axis_name() + " that combine differently"};
      }
    }
    const std::string unfinished =
        "its operand is a partial result until the groups of " + axis_name() + " are combined";
    if (first.combine == Combine::Kind::max || first.combine == Combine::Kind::log_sum_exp) {
      if (f.kind != OpKind::copy) throw Refusal{id, title(id) + " does not commute with the combine: " + unfinished};
    } else {
      linear_or_refuse(id, partial, unfinished);
      if (first.pending) keeps_rows_or_refuse(id, *first.pending, unfinished);
    }
    status(f.outputs[0]) = first;
  }

  void outputs() {
    for (ArrayId id : d_.outputs) {
      const ArrayStatus& s = status(id);
      if (s.kind != Kind::chunk || !s.pending) continue;
      const std::string& p = name(op(*s.pending).outputs[0]);
      throw Refusal{*s.pending,
                    "softmax over " + axis_name() + " ends with an output that carries " + axis_name() +
                        ": every chunk of " + name(id) +
                        " stays unnormalised until the last one is seen, so all of it would have to be kept; " +
                        "contract or sum " + p + " over " + axis_name() + " in the same kernel"};
    }
  }

  const Diagram& d_;
  AxisId axis_;
  AxisUse use_;
  AxisAnalysis result_;
};

/// Arrays that are zero on every masked (row, column) pair.
class Zeros {
 public:
  Zeros(const Diagram& d, const std::array<AxisId, 2>& pair) : d_(d), pair_(pair), zero_(d.arrays.size(), false) {
    for (const Operation& op : d_.operations) {
      for (ArrayId out : op.outputs) zero_[static_cast<std::size_t>(out)] = after(op);
      for (std::size_t i = 1; i < op.outputs.size(); ++i)  // log-sum-exp, or maximum and sum
        zero_[static_cast<std::size_t>(op.outputs[i])] = false;
    }
  }

  [[nodiscard]] bool zero(ArrayId id) const { return zero_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] bool masked(const Operation& op) const { return op.mask == pair_; }

  /// Returns true if the operation's terms are zero at masked elements, before it reduces them: zero terms add nothing.
  [[nodiscard]] bool after(const Operation& op) const {
    const auto is_zero = [&](ArrayId in) { return zero(in); };
    switch (op.kind) {
      case OpKind::softmax: return masked(op);
      case OpKind::map: return masked(op) || (keeps_zero(op.function) && zero(op.inputs[0]));
      case OpKind::contract: return std::any_of(op.inputs.begin(), op.inputs.end(), is_zero);
      case OpKind::multiply: return masked(op) || std::any_of(op.inputs.begin(), op.inputs.end(), is_zero);
      case OpKind::divide: return is_zero(op.inputs[0]);
      case OpKind::fold:
      case OpKind::scan: return false;
      default: return std::all_of(op.inputs.begin(), op.inputs.end(), is_zero);
    }
  }

 private:
  const Diagram& d_;
  std::array<AxisId, 2> pair_;
  std::vector<bool> zero_;
};

}  // namespace

AxisAnalysis analyse(const Diagram& diagram, AxisId axis, AxisUse use) { return Analyser(diagram, axis, use).run(); }

std::vector<AxisId> state_axes(const Diagram& diagram, OpId softmax) {
  const Operation& op = diagram.operations[static_cast<std::size_t>(softmax)];
  std::vector<AxisId> axes;
  for (AxisId a : diagram.arrays[static_cast<std::size_t>(op.outputs[0])].axes) {
    if (!op.owns(a)) axes.push_back(a);
  }
  return axes;
}

std::optional<std::array<AxisId, 2>> skippable(const Diagram& diagram, AxisId stream) {
  std::optional<std::array<AxisId, 2>> pair;
  for (const auto& axes : mask_axes(diagram)) {
    if (axes[0] != stream && axes[1] != stream) continue;
    if (pair) return std::nullopt;  // two masks along one axis: only chunks that both hide could be left out
    pair = axes;
  }
  if (!pair) return std::nullopt;
  const Zeros zeros(diagram, *pair);
  for (const Operation& op : diagram.operations) {
    if (!op.owns(stream)) continue;
    const bool neutral = op.kind == OpKind::softmax ? zeros.masked(op) : op.kind != OpKind::max && zeros.after(op);
    if (!neutral) return std::nullopt;
  }
  for (ArrayId id : diagram.outputs) {
    if (diagram.arrays[static_cast<std::size_t>(id)].has(stream) && !zeros.zero(id)) return std::nullopt;
  }
  return pair;
}

}  // namespace napkin::internal
