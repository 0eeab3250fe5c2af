#include "model/fusion/combine.hpp"

#include <algorithm>

#include "model/fusion/derive.hpp"

namespace napkin::internal {
namespace {

/// Writes the combine's diagram, split axis by split axis.
class CombineWriter {
 public:
  explicit CombineWriter(const Streamed& from)
      : from_(from), axis_of_(from.roles.size()), parts_of_(from.roles.size()) {}

  CombineLaunch write() {
    out_.streamed.diagram.name = from_.diagram.name + "_combine";
    add_inputs();
    for (std::size_t a = 0; a < from_.roles.size(); ++a) {
      if (from_.roles[a] == AxisRole::split) reduce(static_cast<AxisId>(a));
    }
    for (const ArrayId array : out_.whole) {
      d().arrays[at(now(array))].name = from_.diagram.arrays[at(array)].name;
      d().outputs.push_back(now(array));
    }
    check(d());
    out_.streamed = derive(d());
    return std::move(out_);
  }

 private:
  Diagram& d() { return out_.streamed.diagram; }

  AxisId add_axis(const std::string& name, std::optional<AxisId> same, std::optional<AxisId> split) {
    d().axes.push_back({name, std::monostate{}, {}});
    out_.same_axis.push_back(same);
    out_.split.push_back(split);
    return static_cast<AxisId>(d().axes.size()) - 1;
  }
  AxisId axis_of(AxisId axis) {
    std::optional<AxisId>& there = axis_of_[at(axis)];
    if (!there) there = add_axis(from_.diagram.axes[at(axis)].name, axis, std::nullopt);
    return *there;
  }
  /// Returns the axis "x.parts": names in a diagram's file have no point.
  AxisId parts_of(AxisId axis) {
    std::optional<AxisId>& there = parts_of_[at(axis)];
    if (!there) there = add_axis(from_.diagram.axes[at(axis)].name + ".parts", std::nullopt, axis);
    return *there;
  }

  ArrayId add_array(const std::string& name, std::vector<AxisId> axes) {
    d().arrays.push_back({name, std::move(axes), {}});
    return static_cast<ArrayId>(d().arrays.size()) - 1;
  }

  /// Returns the latest form of an output: its parts at first, the whole at the end.
  ArrayId& now(ArrayId output) {
    return now_[at(static_cast<int>(std::find(out_.whole.begin(), out_.whole.end(), output) - out_.whole.begin()))];
  }

  void add_inputs() {
    for (const ArrayId output : from_.diagram.outputs) {
      std::vector<AxisId> axes;
      for (std::size_t a = 0; a < from_.roles.size(); ++a) {
        if (combine(output, static_cast<AxisId>(a)) != nullptr) axes.push_back(parts_of(static_cast<AxisId>(a)));
      }
      if (axes.empty()) continue;
      const Array& array = from_.diagram.arrays[at(output)];
      for (const AxisId a : array.axes) axes.push_back(axis_of(a));
      out_.whole.push_back(output);
      now_.push_back(add_array(array.name + ".parts", std::move(axes)));
      d().inputs.push_back(now_.back());
    }
  }

  [[nodiscard]] const Combine* combine(ArrayId array, AxisId axis) const {
    for (const Combine& c : from_.combines) {
      if (c.array == array && c.axis == axis) return &c;
    }
    return nullptr;
  }

  ArrayId add_operation(OpKind kind, std::vector<ArrayId> inputs, AxisId over, const std::string& name) {
    Operation op;
    op.kind = kind;
    op.own = {over};
    std::vector<AxisId> axes;
    for (const AxisId a : d().arrays[at(inputs.back())].axes) {
      if (a != over) axes.push_back(a);
    }
    op.inputs = std::move(inputs);
    op.outputs = {add_array(name, std::move(axes))};
    d().operations.push_back(op);
    return op.outputs[0];
  }

  /// Adds the weights exp(lse_k - lse) of the parts along an axis: a softmax, whose log-sum-exp is the whole's.
  ArrayId add_weights(ArrayId log_sum_exp, AxisId over, const std::string& name) {
    const ArrayId parts = now(log_sum_exp);
    Operation op;
    op.kind = OpKind::softmax;
    op.own = {over};
    op.inputs = {parts};
    const std::vector<AxisId> all = d().arrays[at(parts)].axes;
    std::vector<AxisId> rows = all;
    rows.erase(std::remove(rows.begin(), rows.end(), over), rows.end());
    op.outputs.push_back(add_array("weights" + name, all));
    op.outputs.push_back(add_array(from_.diagram.arrays[at(log_sum_exp)].name + name, rows));
    d().operations.push_back(op);
    now(log_sum_exp) = op.outputs[1];
    return op.outputs[0];
  }

  /// Sums one split axis out of all arrays that have parts along it.
  void reduce(AxisId axis) {
    // weight of each array whose parts are combined by their log-sum-exp
    std::vector<std::pair<ArrayId, ArrayId>> weights;
    const std::string suffix = "." + from_.diagram.axes[at(axis)].name;
    for (const Combine& c : from_.combines) {
      if (c.axis != axis || c.kind != Combine::Kind::log_sum_exp) continue;
      const std::string name = suffix + "." + std::to_string(weights.size());
      const ArrayId made = add_weights(c.array, parts_of(axis), name);
      weights.emplace_back(c.array, made);
    }
    for (const Combine& c : from_.combines) {
      if (c.axis != axis || c.kind == Combine::Kind::log_sum_exp) continue;
      std::vector<ArrayId> inputs = {now(c.array)};
      OpKind kind = c.kind == Combine::Kind::max ? OpKind::max : OpKind::sum;
      if (c.kind == Combine::Kind::weighted) {
        kind = OpKind::contract;
        const auto of =
            std::find_if(weights.begin(), weights.end(), [&](const auto& w) { return w.first == c.log_sum_exp; });
        inputs.insert(inputs.begin(), of->second);
      }
      const std::string name = from_.diagram.arrays[at(c.array)].name + suffix;
      const ArrayId reduced = add_operation(kind, std::move(inputs), parts_of(axis), name);
      now(c.array) = reduced;
    }
  }

  const Streamed& from_;
  CombineLaunch out_;
  std::vector<ArrayId> now_;                               // arrays, in the order of CombineLaunch::whole
  std::vector<std::optional<AxisId>> axis_of_, parts_of_;  // axes by AxisId of from_
};

}  // namespace

std::optional<CombineLaunch> combine_launch(const Streamed& streamed) {
  if (streamed.combines.empty()) return std::nullopt;
  return CombineWriter(streamed).write();
}

Problem combine_problem(const CombineLaunch& combine, const Problem& problem, const std::vector<Count>& group) {
  Problem out;
  out.dtype = problem.dtype;
  for (std::size_t i = 0; i < combine.streamed.diagram.axes.size(); ++i) {
    const bool parts = combine.split[i].has_value();
    const std::size_t from = at(parts ? *combine.split[i] : *combine.same_axis[i]);
    out.sizes.push_back(parts ? ceil_div(problem.sizes[from], group[from]) : problem.sizes[from]);
  }
  return out;
}

bool has_parts(const CombineLaunch& combine, const Problem& of) {
  for (std::size_t i = 0; i < combine.split.size(); ++i) {
    if (combine.split[i] && of.sizes[i] > Count(1)) return true;
  }
  return false;
}

Transfer combine_transfer(const Streamed& streamed, const Problem& problem, const Partition& partition) {
  const auto combine = combine_launch(streamed);
  if (!combine) return {};
  const Problem of = combine_problem(*combine, problem, partition.group);
  if (!has_parts(*combine, of)) return {};
  return transfer(combine->streamed, of,
                  make_partition(combine->streamed, of.sizes, {}, combine->streamed.diagram.name));
}

}  // namespace napkin::internal
