#include "model/diagram/diagram.hpp"

#include <algorithm>

namespace napkin::internal {
namespace {

template <class Named>
std::vector<std::string> names_of(const std::vector<Named>& items) {
  std::vector<std::string> names;
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

template <class Named>
std::optional<int> index_of(const std::vector<Named>& items, std::string_view name) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].name == name) return static_cast<int>(i);
  }
  return std::nullopt;
}

bool contains(const std::vector<ArrayId>& arrays, ArrayId array) {
  return std::find(arrays.begin(), arrays.end(), array) != arrays.end();
}

}  // namespace

std::optional<AxisId> Diagram::find_axis(std::string_view axis_name) const { return index_of(axes, axis_name); }

std::optional<ArrayId> Diagram::find_array(std::string_view array_name) const { return index_of(arrays, array_name); }

AxisId Diagram::axis(std::string_view axis_name) const {
  if (const auto id = find_axis(axis_name)) return *id;
  throw Error(name, "no axis '" + std::string(axis_name) + "'", one_of(axis_name, axis_names()));
}

ArrayId Diagram::array(std::string_view array_name) const {
  if (const auto id = find_array(array_name)) return *id;
  throw Error(name, "no array '" + std::string(array_name) + "'", one_of(array_name, names_of(arrays)));
}

std::optional<OpId> Diagram::producer(ArrayId array_id) const {
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (contains(operations[i].outputs, array_id)) return static_cast<OpId>(i);
  }
  return std::nullopt;
}

std::vector<OpId> Diagram::consumers(ArrayId array_id) const {
  std::vector<OpId> found;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (contains(operations[i].inputs, array_id)) found.push_back(static_cast<OpId>(i));
  }
  return found;
}

bool Diagram::is_input(ArrayId array_id) const { return contains(inputs, array_id); }
bool Diagram::is_output(ArrayId array_id) const { return contains(outputs, array_id); }
bool Diagram::is_table(ArrayId array_id) const {
  return std::any_of(arrays.begin(), arrays.end(), [&](const Array& array) {
    return std::any_of(array.reindexed.begin(), array.reindexed.end(),
                       [&](const Reindex& dimension) { return dimension.table == array_id; });
  });
}
const Fold& Diagram::fold_of(const Operation& operation) const {
  for (const Fold& fold : folds) {
    if (fold.name == operation.function) return fold;
  }
  throw Error(name, "no fold '" + operation.function + "'", "one of the diagram's folds");
}
std::vector<std::string> Diagram::axis_names() const { return names_of(axes); }

const std::vector<std::string>& map_functions() {
  static const std::vector<std::string> functions = {
      "exp",        "log",        "identity",   "negate",     "relu",          "gelu",      "silu",
      "tanh",       "sigmoid",    "square",     "sqrt",       "rsqrt",         "abs",       "reciprocal",
      "relu_slope", "gelu_slope", "silu_slope", "tanh_slope", "sigmoid_slope", "abs_slope", "is_zero"};
  return functions;
}

bool is_linear_map(std::string_view function) { return function == "identity" || function == "negate"; }

bool keeps_zero(std::string_view function) {
  for (std::string_view f :
       {"identity", "negate", "relu", "gelu", "silu", "tanh", "square", "sqrt", "abs", "relu_slope", "abs_slope"}) {
    if (function == f) return true;
  }
  return false;
}

std::string slope_of(std::string_view function) {
  const std::string slope = std::string(function) + "_slope";
  const auto& known = map_functions();
  return std::find(known.begin(), known.end(), slope) == known.end() ? "" : slope;
}

bool is_flat(std::string_view function) {
  return function == "relu_slope" || function == "abs_slope" || function == "is_zero";
}

std::string_view name_of(OpKind kind) {
  switch (kind) {
    case OpKind::contract: return "contract";
    case OpKind::softmax: return "softmax";
    case OpKind::map: return "map";
    case OpKind::sum: return "sum";
    case OpKind::max: return "max";
    case OpKind::add: return "add";
    case OpKind::subtract: return "subtract";
    case OpKind::multiply: return "multiply";
    case OpKind::divide: return "divide";
    case OpKind::copy: return "copy";
    case OpKind::fold: return "fold";
    case OpKind::scan: return "scan";
  }
  return "";
}

bool operator==(const Diagram& a, const Diagram& b) {
  const auto same_axis = [](const Axis& s, const Axis& t) {
    return s.name == t.name && s.fallback == t.fallback && s.role == t.role;
  };
  const auto same_array = [](const Array& s, const Array& t) {
    return s.name == t.name && s.axes == t.axes && s.reindexed == t.reindexed && s.type == t.type;
  };
  const auto same_operation = [](const Operation& s, const Operation& t) {
    return s.kind == t.kind && s.outputs == t.outputs && s.inputs == t.inputs && s.own == t.own &&
           s.function == t.function && s.scale == t.scale && s.mask == t.mask;
  };
  return a.name == b.name && a.about == b.about && a.inputs == b.inputs && a.outputs == b.outputs &&
         a.folds == b.folds && std::equal(a.axes.begin(), a.axes.end(), b.axes.begin(), b.axes.end(), same_axis) &&
         std::equal(a.arrays.begin(), a.arrays.end(), b.arrays.begin(), b.arrays.end(), same_array) &&
         std::equal(a.operations.begin(), a.operations.end(), b.operations.begin(), b.operations.end(), same_operation);
}

}  // namespace napkin::internal
