// Diagram -> text.

#include "model/diagram/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "model/base/yaml_write.hpp"

namespace napkin::internal {
namespace {

std::string number_text(double value) {
  std::array<char, 32> buffer{};
  const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end};
}

std::string axis_list(const Diagram& d, const std::vector<AxisId>& axes, const char* separator) {
  std::vector<std::string> names;
  for (AxisId a : axes) names.push_back(d.axes[static_cast<std::size_t>(a)].name);
  return joined(names, separator);
}

/// Prints a dimension: "x: 2*i + k - 1", "p: T[n]".
std::string dimension_text(const Diagram& d, const Array& array, const Reindex& dimension, const AxisNames& name) {
  std::vector<std::string> axes;
  for (std::size_t i = 0; i < dimension.strides.size(); ++i) axes.push_back(name(array.axes[dimension.first + i]));
  const std::string of = d.axes[static_cast<std::size_t>(dimension.of)].name + ": ";
  if (dimension.table)
    return of + d.arrays[static_cast<std::size_t>(*dimension.table)].name + "[" + joined(axes, ",") + "]";
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (dimension.strides[i] != 1) axes[i] = std::to_string(dimension.strides[i]) + "*" + axes[i];
  }
  std::string text = of + joined(axes, " + ");
  if (dimension.offset > 0) text += " + " + std::to_string(dimension.offset);
  if (dimension.offset < 0) text += " - " + std::to_string(-dimension.offset);
  return text;
}

std::string array_text(const Diagram& d, ArrayId id) {
  return print_array(d, id, [&](AxisId axis) { return d.axes[static_cast<std::size_t>(axis)].name; });
}

std::string type_text(const Array& array) { return array.type ? " type " + std::string(name_of(*array.type)) : ""; }

std::string axis_entry(const Diagram& d, const Axis& axis) {
  std::string text = yaml::written(axis.name) + ": ";
  if (const auto* number = std::get_if<std::int64_t>(&axis.fallback)) text += std::to_string(*number);
  if (const auto* other = std::get_if<AxisId>(&axis.fallback)) {
    text += yaml::written(d.axes[static_cast<std::size_t>(*other)].name);
  }
  return text;
}

std::string_view name_of_role(AxisRole role) {
  switch (role) {
    case AxisRole::whole: return "whole";
    case AxisRole::stream: return "stream";
    default: return "group";  // a split is a group that an operation consumes
  }
}

std::string roles_text(const Diagram& d) {
  std::vector<std::string> roles;
  for (const Axis& axis : d.axes) {
    if (axis.role) roles.push_back(yaml::written(axis.name) + ": " + std::string(name_of_role(*axis.role)));
  }
  return roles.empty() ? "" : "roles: {" + joined(roles) + "}\n";
}

std::string fold_text(const Fold& fold) {
  std::vector<std::string> of, empty;
  for (const std::string& name : fold.of) of.push_back(yaml::written(name));
  std::string each, merge;
  for (const FoldValue& value : fold.state) {
    const std::string name = yaml::written(value.name) + ": ";
    empty.push_back(name + number_text(value.empty));
    each += "      " + name + yaml::written(value.each.text()) + "\n";
    merge += "      " + name + yaml::written(value.merge.text()) + "\n";
  }
  return "  " + yaml::written(fold.name) + ":\n    of: [" + joined(of) + "]\n    state: {" + joined(empty) +
         "}\n    each:\n" + each + "    merge:\n" + merge + "    result: " + yaml::written(fold.result.text()) + "\n";
}

}  // namespace

std::string print_array(const Diagram& d, ArrayId id, const AxisNames& name) {
  const Array& a = d.arrays[static_cast<std::size_t>(id)];
  std::vector<std::string> dimensions;
  for (std::size_t i = 0; i < a.axes.size();) {
    const auto here = std::find_if(a.reindexed.begin(), a.reindexed.end(),
                                   [&](const Reindex& dimension) { return dimension.first == i; });
    const bool plain = here == a.reindexed.end();
    dimensions.push_back(plain ? name(a.axes[i]) : dimension_text(d, a, *here, name));
    i += plain ? 1 : here->strides.size();
  }
  return a.name + "[" + joined(dimensions, ",") + "]";
}

std::string print_scale(const Diagram& d, const Scale& scale) {
  if (!scale.axis) return number_text(scale.factor);
  std::string text = scale.factor == 1.0 ? "" : number_text(scale.factor) + "*";
  text += d.axes[static_cast<std::size_t>(*scale.axis)].name + "^" + std::to_string(scale.numerator);
  if (scale.denominator != 1) text += "/" + std::to_string(scale.denominator);
  return text;
}

std::string print_operation(const Diagram& d, OpId id) {
  const Operation& op = d.operations[static_cast<std::size_t>(id)];
  std::vector<std::string> outputs, inputs;
  for (ArrayId a : op.outputs) outputs.push_back(array_text(d, a));
  for (ArrayId a : op.inputs) inputs.push_back(d.arrays[static_cast<std::size_t>(a)].name);
  std::string text = joined(outputs) + " = " + std::string(name_of(op.kind));
  if (!op.function.empty()) text += " " + op.function;
  if (!op.own.empty()) text += " over " + axis_list(d, op.own, ", ");
  text += " (" + joined(inputs) + ")";
  if (!(op.scale == Scale{})) text += " scale " + print_scale(d, op.scale);
  if (op.mask) text += " mask (" + axis_list(d, {(*op.mask)[0], (*op.mask)[1]}, ", ") + ")";
  return text + type_text(d.arrays[static_cast<std::size_t>(op.outputs[0])]);
}

std::string print(const Diagram& d) {
  std::vector<std::string> axes, inputs, outputs;
  for (const Axis& a : d.axes) axes.push_back(axis_entry(d, a));
  for (ArrayId id : d.inputs)
    inputs.push_back("\"" + array_text(d, id) + type_text(d.arrays[static_cast<std::size_t>(id)]) + "\"");
  for (ArrayId id : d.outputs) outputs.push_back(yaml::written(d.arrays[static_cast<std::size_t>(id)].name));
  std::string text = "algorithm: " + yaml::written(d.name) + "\n";
  if (!d.about.empty()) text += "about: " + yaml::written(d.about) + "\n";
  text += "axes: {" + joined(axes) + "}\n" + roles_text(d);
  if (!d.folds.empty()) text += "folds:\n";
  for (const Fold& fold : d.folds) text += fold_text(fold);
  text += "inputs: [" + joined(inputs) + "]\noperations:\n";
  for (std::size_t i = 0; i < d.operations.size(); ++i) {
    text += "  - " + print_operation(d, static_cast<OpId>(i)) + "\n";
  }
  return text + "outputs: [" + joined(outputs) + "]\n";
}

}  // namespace napkin::internal
