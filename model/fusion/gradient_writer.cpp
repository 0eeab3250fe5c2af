#include "model/fusion/gradient_writer.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "model/fusion/accumulator.hpp"
#include "model/fusion/rewrite_parts.hpp"

namespace napkin::internal::gradients {
namespace {

bool has(const std::vector<AxisId>& axes, AxisId axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

/// Drops operations and inputs that no output needs.
void keep_needed(Diagram& d) {
  std::vector<bool> needed(d.arrays.size(), false);
  for (ArrayId id : d.outputs) needed[at(id)] = true;
  std::vector<Operation> kept;
  for (auto op = d.operations.rbegin(); op != d.operations.rend(); ++op) {
    if (std::none_of(op->outputs.begin(), op->outputs.end(), [&](ArrayId id) { return needed[at(id)]; })) continue;
    for (ArrayId id : op->inputs) needed[at(id)] = true;
    kept.push_back(*op);
  }
  d.operations.assign(kept.rbegin(), kept.rend());
  for (ArrayId id : d.inputs) {
    if (!needed[at(id)]) continue;
    for (const Reindex& dimension : d.arrays[at(id)].reindexed) {
      if (dimension.table) needed[at(*dimension.table)] = true;
    }
  }
  std::erase_if(d.folds, [&](const Fold& fold) {
    return std::none_of(d.operations.begin(), d.operations.end(),
                        [&](const Operation& op) { return op.kind != OpKind::map && op.function == fold.name; });
  });
  std::erase_if(d.inputs, [&](ArrayId id) { return !needed[at(id)]; });
}

/// Numbers the arrays in the order of the text: inputs, then the results of the operations.
void number_in_order(Diagram& d) {
  std::vector<ArrayId> order = d.inputs;
  for (const Operation& op : d.operations) order.insert(order.end(), op.outputs.begin(), op.outputs.end());
  std::vector<Array> arrays;
  std::vector<ArrayId> place(d.arrays.size(), -1);
  for (ArrayId id : order) {
    place[at(id)] = static_cast<ArrayId>(arrays.size());
    arrays.push_back(d.arrays[at(id)]);
  }
  const auto move = [&](ArrayId& id) { id = place[at(id)]; };
  for (Array& array : arrays) {
    for (Reindex& dimension : array.reindexed) {
      if (dimension.table) move(*dimension.table);
    }
  }
  for (Operation& op : d.operations) {
    std::for_each(op.inputs.begin(), op.inputs.end(), move);
    std::for_each(op.outputs.begin(), op.outputs.end(), move);
  }
  std::for_each(d.inputs.begin(), d.inputs.end(), move);
  std::for_each(d.outputs.begin(), d.outputs.end(), move);
  d.arrays = std::move(arrays);
}

/// Drops the axes that no array carries. An axis whose default size is a dropped axis's size gets that axis's default.
void keep_used_axes(Diagram& d) {
  std::vector<bool> used(d.axes.size(), false);
  for (const Array& a : d.arrays) {
    for (AxisId axis : a.axes) used[at(axis)] = true;
    for (const Reindex& r : a.reindexed) used[at(r.of)] = true;
  }
  for (const Operation& op : d.operations) {
    if (op.scale.axis) used[at(*op.scale.axis)] = true;
  }
  std::vector<AxisId> place(d.axes.size(), -1);
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) continue;
    place[i] = static_cast<AxisId>(axes.size());
    axes.push_back(d.axes[i]);
  }
  for (Axis& axis : axes) {
    while (const auto* other = std::get_if<AxisId>(&axis.fallback)) {
      const AxisId from = *other;
      if (used[at(from)]) {
        axis.fallback = place[at(from)];
        break;
      }
      axis.fallback = d.axes[at(from)].fallback;
    }
  }
  const auto move = [&](AxisId& axis) { axis = place[at(axis)]; };
  for (Array& a : d.arrays) {
    std::for_each(a.axes.begin(), a.axes.end(), move);
    for (Reindex& r : a.reindexed) move(r.of);
  }
  for (Operation& op : d.operations) {
    std::for_each(op.own.begin(), op.own.end(), move);
    if (op.scale.axis) move(*op.scale.axis);
    if (op.mask) std::for_each(op.mask->begin(), op.mask->end(), move);
  }
  d.axes = std::move(axes);
}

/// Moves the scale of each softmax into the product, sum or map that makes its scores, if nothing else takes them.
void fold_scales(Diagram& d) {
  for (Operation& op : d.operations) {
    if (op.kind != OpKind::softmax || op.scale == Scale{}) continue;
    const ArrayId scores = op.inputs[0];
    const auto producer = d.producer(scores);
    if (!producer || d.consumers(scores).size() != 1 || d.is_output(scores)) continue;
    Operation& before = d.operations[at(*producer)];
    const bool takes = before.kind == OpKind::contract || before.kind == OpKind::sum ||
                       (before.kind == OpKind::map && is_linear_map(before.function));
    const auto both = composed(before.scale, op.scale);
    if (!takes || !both) continue;
    before.scale = *both;
    op.scale = {};
  }
}

/// Gives each softmax its log-sum-exp, as an output.
void add_statistics(Diagram& d) {
  const auto is_softmax = [](const Operation& op) { return op.kind == OpKind::softmax; };
  const bool several = std::count_if(d.operations.begin(), d.operations.end(), is_softmax) > 1;
  for (std::size_t i = 0; i < d.operations.size(); ++i) {
    Operation& op = d.operations[i];
    if (!is_softmax(op)) continue;
    if (op.outputs.size() > 2) {
      throw Error(d.name, "softmax (" + d.arrays[at(op.outputs[0])].name + ") yields its maximum and its sum",
                  "the log-sum-exp alone as its second output, which has a gradient");
    }
    if (op.outputs.size() == 1) {
      std::string name = several ? "L_" + d.arrays[at(op.outputs[0])].name : "L";
      while (d.find_array(name)) name += "_";
      d.arrays.push_back(Array{name, state_axes(d, static_cast<OpId>(i)), op.location});
      op.outputs.push_back(static_cast<ArrayId>(d.arrays.size()) - 1);
    }
    if (!d.is_output(op.outputs[1])) d.outputs.push_back(op.outputs[1]);
  }
}

}  // namespace

std::optional<Scale> composed(const Scale& a, const Scale& b) {
  if (a.axis && b.axis && a.axis != b.axis) return std::nullopt;
  const Scale& powered = a.axis ? a : b;
  Scale out{a.factor * b.factor, powered.axis, powered.numerator, powered.denominator};
  if (!a.axis || !b.axis) return out;
  out.numerator = a.numerator * b.denominator + b.numerator * a.denominator;
  out.denominator = a.denominator * b.denominator;
  const int common = std::gcd(out.numerator, out.denominator);
  if (out.numerator == 0) return Scale{out.factor, std::nullopt, 0, 1};
  out.numerator /= common;
  out.denominator /= common;
  return out;
}

GradientWriter::GradientWriter(const Diagram& forward)
    : f_(forward), outputs_(forward.outputs.size()), values_(forward.arrays.size()) {
  add_statistics(f_);
  fold_scales(f_);
  values_.resize(f_.arrays.size());
  b_.name = f_.name + "_gradient";
  b_.about = "gradients of " + f_.name;
  b_.axes = f_.axes;
  for (Axis& axis : b_.axes) axis.role.reset();  // roles that the author gave for the forward diagram
  b_.folds = f_.folds;
}

std::string GradientWriter::fresh(const std::string& name) const {
  std::string out = name;
  for (int number = 1; b_.find_array(out) || f_.find_array(out); ++number) out = name + "_" + std::to_string(number);
  return out;
}

ArrayId GradientWriter::add(const std::string& name, std::vector<AxisId> axes, const Array* like) {
  Array made{name, std::move(axes), {}};
  if (like != nullptr) made.reindexed = like->reindexed, made.type = like->type;
  b_.arrays.push_back(std::move(made));
  return static_cast<ArrayId>(b_.arrays.size()) - 1;
}

ArrayId GradientWriter::take(ArrayId forward) {
  const Array& like = f_.arrays[at(forward)];
  // Tables come before the arrays whose rows they choose.
  std::vector<Reindex> dimensions = like.reindexed;
  for (Reindex& dimension : dimensions) {
    if (dimension.table) dimension.table = value(*dimension.table);
  }
  const ArrayId id = add(like.name, like.axes, &like);
  b_.arrays[at(id)].reindexed = std::move(dimensions);
  b_.inputs.push_back(id);
  return id;
}

ArrayId GradientWriter::value(ArrayId forward) {
  if (!values_[at(forward)]) {
    if (f_.is_input(forward) || f_.is_output(forward))
      values_[at(forward)] = take(forward);
    else
      compute(*f_.producer(forward));
  }
  return *values_[at(forward)];
}

void GradientWriter::store(ArrayId forward) {
  if (!f_.is_output(forward) && !f_.is_input(forward)) f_.outputs.push_back(forward);
}

std::string GradientWriter::gradient_name(ArrayId forward) const {
  std::string name = "d" + f_.arrays[at(forward)].name;
  while (f_.find_array(name)) name += "_";
  return name;
}

/// Computes a forward operation again; a softmax as exp(S - L), from its log-sum-exp.
void GradientWriter::compute(OpId forward) {
  Operation op = f_.operations[at(forward)];
  const Array& like = f_.arrays[at(op.outputs[0])];
  const ArrayId out = op.outputs[0];
  for (ArrayId& in : op.inputs) in = value(in);
  if (op.kind != OpKind::softmax) {
    op.outputs = {add(like.name, like.axes, &like)};
    b_.operations.push_back(op);
    values_[at(out)] = op.outputs[0];
    return;
  }
  const std::string scores = array(op.inputs[0]).name;
  const ArrayId all = scaled(op.inputs[0], op.scale, "scaled_" + scores);
  Operation power;
  power.kind = OpKind::map;
  power.function = "exp";
  power.mask = op.mask;
  power.inputs = {apply(OpKind::subtract, {all, value(op.outputs[1])}, "shifted_" + scores)};
  power.outputs = {add(like.name, like.axes, &like)};
  b_.operations.push_back(power);
  values_[at(out)] = power.outputs[0];
}

ArrayId GradientWriter::given(ArrayId output) {
  const Array& like = f_.arrays[at(output)];
  const ArrayId id = add(gradient_name(output), like.axes, nullptr);
  b_.arrays[at(id)].type = like.type;
  b_.inputs.push_back(id);
  return id;
}

ArrayId GradientWriter::apply(Operation op, const std::string& name, const std::vector<AxisId>& order) {
  std::vector<AxisId> axes;
  for (AxisId a : order) {
    const bool carried = std::any_of(op.inputs.begin(), op.inputs.end(), [&](ArrayId in) { return array(in).has(a); });
    if (carried && !op.owns(a)) axes.push_back(a);
  }
  for (ArrayId in : op.inputs) {
    for (AxisId a : array(in).axes) {
      if (!op.owns(a) && !has(axes, a)) axes.push_back(a);
    }
  }
  op.outputs = {add(fresh(name), std::move(axes), nullptr)};
  b_.operations.push_back(std::move(op));
  return b_.operations.back().outputs[0];
}

ArrayId GradientWriter::apply(OpKind kind, std::vector<ArrayId> inputs, const std::string& name) {
  Operation op;
  op.kind = kind;
  op.inputs = std::move(inputs);
  return apply(std::move(op), name);
}

ArrayId GradientWriter::map(const std::string& function, ArrayId input, const Scale& scale, const std::string& name) {
  Operation op;
  op.kind = OpKind::map;
  op.function = function;
  op.scale = scale;
  op.inputs = {input};
  return apply(std::move(op), name);
}

ArrayId GradientWriter::scaled(ArrayId input, const Scale& scale, const std::string& name) {
  if (scale == Scale{}) return input;
  const bool negative = scale == Scale{-1, std::nullopt, 0, 1};
  return map(negative ? "negate" : "identity", input, negative ? Scale{} : scale, name);
}

ArrayId GradientWriter::sum_of_product(const std::vector<ArrayId>& terms, const std::set<AxisId>& space,
                                       const std::vector<AxisId>& kept, const Scale& scale, const std::string& name) {
  Operation op;
  op.inputs = terms;
  std::set<AxisId> carried;
  for (ArrayId id : terms) carried.insert(array(id).axes.begin(), array(id).axes.end());
  std::vector<Scale> left;  // scales that the operation itself cannot take
  Scale factor = scale;
  for (AxisId axis : space) {
    if (has(kept, axis)) continue;
    if (carried.count(axis) != 0) {
      op.own.push_back(axis);
      continue;
    }
    const Scale repeats{1, axis, 1, 1};  // factor for equal terms, one for each value of the axis
    if (const auto both = composed(factor, repeats))
      factor = *both;
    else
      left.push_back(repeats);
  }
  ArrayId out = terms[0];
  if (!op.own.empty()) {
    op.kind = terms.size() > 1 ? OpKind::contract : OpKind::sum;
    op.scale = factor;
    out = apply(std::move(op), name, kept);
  } else {
    op.kind = OpKind::multiply;
    if (terms.size() > 1) out = apply(std::move(op), name, kept);
    out = scaled(out, factor, name);
  }
  for (const Scale& each : left) out = scaled(out, each, name);
  return out;
}

ArrayId GradientWriter::spread(ArrayId input, const std::vector<AxisId>& axes, const std::string& name) {
  if (array(input).axes == axes) return input;
  Operation op;
  op.kind = OpKind::copy;
  op.inputs = {input};
  op.outputs = {add(fresh(name), axes, nullptr)};
  b_.operations.push_back(op);
  return op.outputs[0];
}

void GradientWriter::output(ArrayId id, const std::string& name) {
  if (b_.is_input(id) || b_.is_output(id)) {  // the gradient of two inputs, or of what is only copied
    Operation op;
    op.kind = OpKind::copy;
    op.inputs = {id};
    id = apply(std::move(op), name);
  }
  b_.outputs.push_back(id);
  if (array(id).name == name) return;
  if (const auto other = b_.find_array(name)) b_.arrays[at(*other)].name = array(id).name;
  b_.arrays[at(id)].name = name;
}

Diagram GradientWriter::finish() {
  keep_needed(b_);
  // The order of the forward: its inputs, its outputs, then the gradients of the outputs.
  const auto place = [&](ArrayId id) {
    return f_.find_array(array(id).name).value_or(static_cast<int>(f_.arrays.size()));
  };
  std::stable_sort(b_.inputs.begin(), b_.inputs.end(), [&](ArrayId a, ArrayId b) { return place(a) < place(b); });
  forget_untaken();
  number_in_order(b_);
  keep_used_axes(b_);
  check(b_);
  check(f_);
  return b_;
}

void GradientWriter::forget_untaken() {
  std::vector<ArrayId> kept;
  for (std::size_t i = 0; i < f_.outputs.size(); ++i) {
    const ArrayId id = f_.outputs[i];
    const auto taken = b_.find_array(f_.arrays[at(id)].name);
    if (i < outputs_ || (taken && b_.is_input(*taken))) kept.push_back(id);
  }
  f_.outputs = std::move(kept);
  for (Operation& op : f_.operations) {
    const bool second = op.kind == OpKind::softmax && op.outputs.size() > 1;
    if (second && !f_.is_output(op.outputs[1]) && f_.consumers(op.outputs[1]).empty()) op.outputs.pop_back();
  }
  rewrite::remove_unused(f_);
}

}  // namespace napkin::internal::gradients
