#include "model/fusion/explain.hpp"

#include <algorithm>

#include "model/diagram/normalised.hpp"
#include "model/fusion/derive.hpp"

namespace napkin::internal {
namespace {

const std::string& array_name(const Diagram& d, ArrayId id) { return d.arrays[static_cast<std::size_t>(id)].name; }
const std::string& axis_name(const Diagram& d, AxisId id) { return d.axes[static_cast<std::size_t>(id)].name; }
const Operation& operation(const Diagram& d, std::size_t i) { return d.operations[i]; }

std::string names(const Diagram& d, const std::vector<AxisId>& axes) {
  std::vector<std::string> words;
  for (AxisId a : axes) words.push_back(axis_name(d, a));
  return joined(words, ",");
}

class Explainer {
 public:
  explicit Explainer(Streamed& streamed) : s_(streamed), d_(streamed.diagram) {}

  void run() {
    for (const std::string& text : d_.rewritings) add("rewriting", std::nullopt, std::nullopt, text);
    groups();
    combines();
    stream();
    for (ArrayId in : d_.inputs) rows(d_.arrays[static_cast<std::size_t>(in)]);
    for (std::size_t i = 0; i < d_.operations.size(); ++i) operation_step(i);
    state();
    mask();
  }

 private:
  void add(std::string rule, std::optional<OpId> op, std::optional<AxisId> axis, std::string text) {
    s_.steps.push_back({std::move(rule), op, axis, std::move(text)});
  }

  /// Explains rows that are chosen: parts of shifted axes overlap, a table is loaded before the rows that it names.
  void rows(const Array& array) {
    for (const Reindex& dimension : array.reindexed) {
      const std::string of = axis_name(d_, dimension.of);
      if (dimension.table) {
        add("gather", std::nullopt, std::nullopt,
            "the rows of " + array.name + " along " + of + " are those that " + array_name(d_, *dimension.table) +
                " names: it is loaded first, and as many rows are read as it has entries");
        continue;
      }
      std::vector<AxisId> parts;
      for (std::size_t i = 0; i < dimension.strides.size(); ++i) {
        const AxisId axis = array.axes[dimension.first + i];
        if (s_.grouped(axis) || s_.stream == axis) parts.push_back(axis);
      }
      if (parts.empty()) continue;
      add("halo", std::nullopt, std::nullopt,
          "a part of " + names(d_, parts) + " reads the rows of " + array.name + " along " + of +
              " from its first to its last: what two parts share is read by both");
    }
  }

  void groups() {
    for (std::size_t i = 0; i < s_.roles.size(); ++i) {
      const auto axis = static_cast<AxisId>(i);
      if (s_.roles[i] == AxisRole::group) {
        add("group", std::nullopt, axis,
            "no operation consumes " + axis_name(d_, axis) + ": its groups are independent");
      } else if (s_.roles[i] == AxisRole::split) {
        add("split", std::nullopt, axis,
            axis_name(d_, axis) +
                " is consumed, but every combine over it is associative: each group works on its part");
      } else {
        continue;
      }
      recomputed(axis);
    }
  }

  void recomputed(AxisId axis) {
    const std::vector<bool> depends = dependents(axis);
    for (std::size_t i = 0; i < d_.operations.size(); ++i) {
      const Operation& op = operation(d_, i);
      if (depends[static_cast<std::size_t>(op.outputs[0])]) continue;
      add("group (recomputed)", static_cast<OpId>(i), axis,
          array_name(d_, op.outputs[0]) + " does not depend on " + axis_name(d_, axis) + ": every group of " +
              axis_name(d_, axis) + " computes it anew");
    }
  }

  /// Returns, by ArrayId, whether the array carries the axis or is computed from one that does.
  std::vector<bool> dependents(AxisId axis) const {
    std::vector<bool> depends(d_.arrays.size());
    for (std::size_t i = 0; i < d_.arrays.size(); ++i) depends[i] = d_.arrays[i].has(axis);
    for (const Operation& op : d_.operations) {
      const bool any = std::any_of(op.inputs.begin(), op.inputs.end(),
                                   [&](ArrayId in) { return depends[static_cast<std::size_t>(in)]; });
      for (ArrayId out : op.outputs) {
        if (any) depends[static_cast<std::size_t>(out)] = true;
      }
    }
    return depends;
  }

  void combines() {
    for (const Combine& c : s_.combines) {
      const std::string& name = array_name(d_, c.array);
      std::string how = "the groups' parts are added";
      if (c.kind == Combine::Kind::max) how = "the largest of the groups' parts counts";
      if (c.kind == Combine::Kind::log_sum_exp) how = "the logarithm of the sum of the groups' exponentials";
      if (c.kind == Combine::Kind::weighted) {
        const std::string& lse = array_name(d_, *c.log_sum_exp);
        how = "the groups' parts are added with weights exp(" + lse + "_i - " + lse + "), so each group stores its " +
              lse;
      }
      add("split (combine)", d_.producer(c.array), c.axis,
          name + " is a partial result of each group of " + axis_name(d_, c.axis) + ": " + how);
    }
  }

  void stream() {
    if (!s_.stream) {
      add("no stream", std::nullopt, std::nullopt, "no axis is streamed: each group runs once, all its arrays whole");
      return;
    }
    const auto carriers =
        std::count_if(d_.arrays.begin(), d_.arrays.end(), [&](const Array& a) { return a.has(*s_.stream); });
    add("stream", std::nullopt, s_.stream,
        x() + " is walked in chunks" + (s_.grouped(*s_.stream) ? " within each of its groups" : "") + ": " +
            std::to_string(carriers) + " arrays carry it, and every operation over it has an accumulator");
  }

  const std::string& x() const { return axis_name(d_, *s_.stream); }

  void operation_step(std::size_t i) {
    if (!s_.stream) return;
    const auto id = static_cast<OpId>(i);
    const Operation& op = operation(d_, i);
    const StreamedOp& part = s_.operations[i];
    const std::string& out = array_name(d_, op.outputs[0]);
    if (part.phase == Phase::head) {
      add("fusion theorem 2 (head)", id, {}, out + " does not depend on " + x() + ": computed once, before the loop");
    } else if (part.phase == Phase::tail) {
      add("fusion theorem 2 (tail)", id, {}, out + " needs all of " + x() + ": computed once, after the loop");
    } else {
      loop_step(id, op, part, out);
    }
  }

  void loop_step(OpId id, const Operation& op, const StreamedOp& part, const std::string& out) {
    switch (*part.accumulator) {
      case AccumulatorKind::concatenate:
        add("fusion theorem 1 (input composition)", id, s_.stream, out + " is computed chunk by chunk of " + x());
        if (d_.is_output(op.outputs[0])) {
          add("stored in the loop", id, s_.stream, out + " carries " + x() + ": each iteration stores its chunk");
        }
        break;
      case AccumulatorKind::online_softmax:
        add("accumulator: online softmax", id, s_.stream,
            "state mu (running maximum), delta (rescale) and z (running sum) for each index of [" +
                names(d_, state_axes(d_, id)) + "]; " + out +
                (is_normalised(op) ? " is divided by z in each chunk" : " is right up to the last rescale"));
        break;
      case AccumulatorKind::fold:
      case AccumulatorKind::scan: {
        std::vector<std::string> state;
        for (const FoldValue& value : d_.fold_of(op).state) state.push_back(value.name);
        const bool each = *part.accumulator == AccumulatorKind::scan;
        add("accumulator: " + op.function, id, s_.stream,
            "state " + joined(state) + " for each index of [" + names(d_, state_axes(d_, id)) +
                "], merged with that of each element, which is associative; " + out +
                (each ? " has its result so far for each element" : " is made of it after the loop"));
        break;
      }
      case AccumulatorKind::max:
        add("accumulator: maximum", id, s_.stream, out + " = max(" + out + ", maximum of the chunk)");
        break;
      case AccumulatorKind::sum:
        add("accumulator: sum", id, s_.stream,
            out + " += its chunk's part" +
                (part.rescaled_by ? ", after " + out + " *= delta of " + softmax_name(*part.rescaled_by) : ""));
        if (part.normalised_in_tail) {
          add("fusion theorem 2 (tail)", id, s_.stream,
              out + " is linear in " + softmax_name(*part.rescaled_by) + ": its division by z moves after the loop");
        }
    }
  }

  const std::string& softmax_name(OpId id) const {
    return array_name(d_, operation(d_, static_cast<std::size_t>(id)).outputs[0]);
  }

  void state() {
    std::vector<std::string> held;
    for (ArrayId id : s_.maintained) held.push_back(array_name(d_, id));
    for (const Auxiliary& a : s_.auxiliaries) held.push_back(a.name);
    if (!held.empty()) {
      add("fusion theorem 3 (weaving)", std::nullopt, std::nullopt,
          joined(held) + (held.size() == 1 ? " is" : " are") + " held for the whole of a group, from head to tail");
    }
  }

  void mask() {
    if (!s_.skips) return;
    const AxisId other = (*s_.skips)[0] == *s_.stream ? (*s_.skips)[1] : (*s_.skips)[0];
    add("mask", std::nullopt, s_.stream,
        "a chunk of " + x() + " that is masked for all of the group's " + axis_name(d_, other) +
            " adds nothing: it is left out");
  }

  Streamed& s_;
  const Diagram& d_;
};

}  // namespace

std::string describe_accumulators(const Diagram& d, AxisId axis, const AxisAnalysis& analysis) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < d.operations.size(); ++i) {
    if (!analysis.accumulators[i]) continue;
    const std::string& out = array_name(d, operation(d, i).outputs[0]);
    switch (*analysis.accumulators[i]) {
      case AccumulatorKind::concatenate: parts.push_back(out + " chunk by chunk"); break;
      case AccumulatorKind::sum: parts.push_back(out + " by a sum"); break;
      case AccumulatorKind::max: parts.push_back(out + " by a maximum"); break;
      case AccumulatorKind::fold:
      case AccumulatorKind::scan: parts.push_back(out + " by fold " + operation(d, i).function); break;
      case AccumulatorKind::online_softmax: parts.push_back(out + " by the online softmax"); break;
    }
  }
  return axis_name(d, axis) + " streams: " + joined(parts, "; ");
}

void explain(Streamed& streamed) { Explainer(streamed).run(); }

void explain_refusals(Streamed& streamed) {
  for (const Streamability& s : streamability(streamed.diagram)) {
    if (s.streamable || streamed.grouped(s.axis)) continue;
    streamed.steps.push_back({"not streamable", s.blocker, s.axis, s.why});
  }
}

}  // namespace napkin::internal
