// The rules of the IR. One place for texts and for diagrams built by programs.

#include <algorithm>
#include <cmath>
#include <set>

#include "model/diagram/diagram.hpp"
#include "model/diagram/normalised.hpp"
#include "model/diagram/reindex.hpp"

namespace napkin::internal {
namespace {

using AxisSet = std::set<AxisId>;

bool is_whole(DType type) { return type == DType::i32 || type == DType::i8 || type == DType::i4; }

bool carries(const Array& array, AxisId axis) {
  return array.has(axis) || std::any_of(array.reindexed.begin(), array.reindexed.end(),
                                        [&](const Reindex& dimension) { return dimension.of == axis; });
}

class Checker {
 public:
  explicit Checker(const Diagram& diagram) : d_(diagram) {}

  void run() {
    check_axes();
    check_folds();
    check_arrays();
    check_inputs();
    for (const Operation& op : d_.operations) check_operation(op);
    check_results();
    check_axes_used();
  }

 private:
  [[noreturn]] void fail(const Location& where, const std::string& what, const std::string& right) const {
    throw Error(where.line == 0 && where.file.empty() ? Location{d_.name, 0, 0} : where, "", what, right);
  }

  const Axis& axis(AxisId id) const { return d_.axes[static_cast<std::size_t>(id)]; }
  const Array& array(ArrayId id) const { return d_.arrays[static_cast<std::size_t>(id)]; }
  bool known_axis(AxisId id) const { return id >= 0 && static_cast<std::size_t>(id) < d_.axes.size(); }
  bool known_array(ArrayId id) const { return id >= 0 && static_cast<std::size_t>(id) < d_.arrays.size(); }

  std::string names(const AxisSet& axes) const {
    std::vector<std::string> words;
    for (AxisId a : axes) words.push_back(axis(a).name);
    return joined(words, ",");
  }
  AxisSet axes_of(ArrayId id) const { return {array(id).axes.begin(), array(id).axes.end()}; }

  void check_axes() const {
    std::set<std::string> seen;
    const Axis* streamed = nullptr;
    for (const Axis& a : d_.axes) {
      if (a.role == AxisRole::stream && streamed != nullptr)
        fail(a.location, "axes '" + streamed->name + "' and '" + a.name + "' both stream", "one of them");
      if (a.role == AxisRole::stream) streamed = &a;
      if (!seen.insert(a.name).second) fail(a.location, "axis '" + a.name + "' is declared twice", "once");
      if (const auto* number = std::get_if<std::int64_t>(&a.fallback); number != nullptr && *number < 1) {
        fail(a.location, "axis '" + a.name + "' has a default below 1", "a whole number of at least 1");
      }
      if (const auto* other = std::get_if<AxisId>(&a.fallback); other != nullptr && !known_axis(*other)) {
        fail(a.location, "axis '" + a.name + "' takes its size from an axis that is not declared", "a declared axis");
      }
    }
    for (const Axis& a : d_.axes) {
      const Axis* at = &a;
      for (std::size_t steps = 0; const auto* next = std::get_if<AxisId>(&at->fallback); ++steps) {
        if (steps > d_.axes.size()) {
          fail(a.location, "the default of axis '" + a.name + "' leads back to itself",
               "a chain of axes that ends in a number or in nothing");
        }
        at = &axis(*next);
      }
      // The size of a dimension that axes read is resolved last, so no other axis may default to it.
      const auto end = static_cast<AxisId>(at - d_.axes.data());
      if (at != &a && std::holds_alternative<std::monostate>(at->fallback) && is_rows_alone(end)) {
        fail(a.location, "axis '" + a.name + "' takes its size from the rows that are read", "a size, or another axis");
      }
    }
  }

  void check_folds() const {
    std::set<std::string> seen;
    for (const Fold& fold : d_.folds) {
      if (!seen.insert(fold.name).second) fail(fold.location, "fold '" + fold.name + "' is defined twice", "once");
      if (const std::string why = refutation(fold); !why.empty()) {
        fail(fold.location, "fold '" + fold.name + "' is not associative: " + why,
             "a merge of neighbouring parts that may go in any order, and a state of nothing that changes none");
      }
    }
  }

  bool is_rows_alone(AxisId id) const {
    bool rows = false;
    for (const Array& a : d_.arrays) {
      if (a.has(id)) return false;
      rows = rows || carries(a, id);
    }
    return rows;
  }

  void check_arrays() const {
    std::set<std::string> seen;
    for (const Array& a : d_.arrays) {
      if (!seen.insert(a.name).second) {
        fail(a.location, "array '" + a.name + "' is defined twice", "a new name: every array is assigned once");
      }
      check_reindexed(a);
      AxisSet axes;
      for (AxisId id : a.axes) {
        if (!known_axis(id))
          fail(a.location, "array '" + a.name + "' has an axis that is not declared", "declared axes");
        if (!axes.insert(id).second) {
          fail(a.location, "array '" + a.name + "' carries axis '" + axis(id).name + "' twice", "each axis once");
        }
      }
    }
  }

  void check_reindexed(const Array& a) const {
    std::size_t free = 0;  // first place of Array::axes after those of earlier dimensions
    for (const Reindex& r : a.reindexed) {
      if (!known_axis(r.of))
        fail(a.location, "array '" + a.name + "' has an axis that is not declared", "declared axes");
      if (a.has(r.of)) fail(a.location, "array '" + a.name + "' carries axis '" + axis(r.of).name + "' twice", "once");
      if (r.strides.empty() || r.first < free || r.first + r.strides.size() > a.axes.size())
        fail(a.location, "array '" + a.name + "' has a dimension that no axis reads", "axes of the array in order");
      free = r.first + r.strides.size();
      for (const std::int64_t stride : r.strides) {
        if (stride < 1 && !r.table) fail(a.location, "array '" + a.name + "' has a stride below 1", "at least 1");
      }
    }
  }

  void check_inputs() {
    defined_.assign(d_.arrays.size(), false);
    if (d_.operations.empty()) fail({}, "no operations", "at least one operation");
    for (ArrayId id : d_.inputs) {
      if (!known_array(id)) fail({}, "an input that is not an array", "an array");
      if (defined_[static_cast<std::size_t>(id)]) {
        fail(array(id).location, "input '" + array(id).name + "' is listed twice", "once");
      }
      check_tables(array(id));
      defined_[static_cast<std::size_t>(id)] = true;
    }
    for (std::size_t i = 0; i < d_.arrays.size(); ++i) {
      if (!d_.arrays[i].reindexed.empty() && !defined_[i])
        fail(d_.arrays[i].location, "a computed array that is read by other axes", "only an input's rows are chosen");
    }
  }

  /// Checks tables: a table stands before the array whose rows it chooses, holds whole numbers and is itself read
  /// directly.
  void check_tables(const Array& a) const {
    for (const Reindex& r : a.reindexed) {
      if (!r.table) continue;
      if (!known_array(*r.table) || !defined_[static_cast<std::size_t>(*r.table)])
        fail(a.location, "the table of '" + a.name + "' is no input before it", "an input that stands before it");
      const Array& table = array(*r.table);
      if (!table.reindexed.empty())
        fail(a.location, "table '" + table.name + "' is read through a table", "plain axes");
      if (!table.type || !is_whole(*table.type))
        fail(table.location, "table '" + table.name + "' does not hold whole numbers", "type i32, i8 or i4");
      if (!d_.consumers(*r.table).empty())
        fail(table.location, "an operation takes table '" + table.name + "'", "an input of its own for numbers");
    }
  }

  void check_operation(const Operation& op) {
    if (op.outputs.empty() || op.inputs.empty()) {
      fail(op.location, "an operation without " + std::string(op.outputs.empty() ? "output" : "input"),
           "OUTPUT[axes] = kind (INPUT)");
    }
    for (ArrayId id : op.inputs) {
      if (!known_array(id)) fail(op.location, "an operand that is not an array", "an array");
      if (!defined_[static_cast<std::size_t>(id)]) {
        fail(op.location, "array '" + array(id).name + "' is used before it exists",
             "operations in execution order, without a cycle");
      }
    }
    for (ArrayId id : op.outputs) {
      if (!known_array(id)) fail(op.location, "an output that is not an array", "an array");
      if (defined_[static_cast<std::size_t>(id)]) {
        fail(op.location, "array '" + array(id).name + "' is computed twice",
             "a new name: every array is assigned once");
      }
      defined_[static_cast<std::size_t>(id)] = true;
    }
    check_counts(op);
    check_own(op);
    check_attributes(op);
    check_output_axes(op);
  }

  void check_counts(const Operation& op) const {
    const std::string kind(name_of(op.kind));
    const std::size_t most_outputs = op.kind == OpKind::softmax ? 3 : 1;
    if (op.outputs.size() > most_outputs) {
      fail(op.location, kind + " with " + std::to_string(op.outputs.size()) + " outputs",
           op.kind == OpKind::softmax ? "the probabilities and, if wanted, the log-sum-exp, or the maximum and the sum"
                                      : "one output");
    }
    const std::size_t n = op.inputs.size();
    switch (op.kind) {
      case OpKind::contract:
        if (n < 2) fail(op.location, "contract of one array", "at least two arrays, or sum");
        break;
      case OpKind::add:
      case OpKind::multiply:
        if (n < 2) fail(op.location, kind + " of one array", "at least two arrays");
        break;
      case OpKind::subtract:
      case OpKind::divide:
        if (n != 2) fail(op.location, kind + " of " + std::to_string(n) + " arrays", "two arrays");
        break;
      case OpKind::fold:
      case OpKind::scan: return check_fold(op);
      default:
        if (n != 1) fail(op.location, kind + " of " + std::to_string(n) + " arrays", "one array");
    }
  }

  void check_fold(const Operation& op) const {
    std::vector<std::string> known;
    for (const Fold& fold : d_.folds) known.push_back(fold.name);
    if (std::find(known.begin(), known.end(), op.function) == known.end()) {
      fail(op.location, "unknown fold '" + op.function + "'",
           known.empty() ? "a fold of that name under folds" : one_of(op.function, known));
    }
    const std::size_t needed = d_.fold_of(op).of.size();
    if (op.inputs.size() != needed) {
      fail(op.location, op.function + " of " + std::to_string(op.inputs.size()) + " arrays",
           std::to_string(needed) + ": " + joined(d_.fold_of(op).of));
    }
    if (op.own.size() > 1) fail(op.location, "a fold over several axes", "one axis, whose order it keeps");
  }

  void check_own(const Operation& op) const {
    const std::string kind(name_of(op.kind));
    const bool needs = op.kind == OpKind::contract || op.kind == OpKind::softmax || op.kind == OpKind::sum ||
                       op.kind == OpKind::max || op.kind == OpKind::fold || op.kind == OpKind::scan;
    if (needs && op.own.empty()) fail(op.location, kind + " without an axis", kind + " over AXIS (...)");
    if (!needs && !op.own.empty()) fail(op.location, kind + " takes no 'over'", kind + " (...)");
    AxisSet own;
    for (AxisId id : op.own) {
      if (!known_axis(id)) fail(op.location, kind + " over an axis that is not declared", "a declared axis");
      if (!own.insert(id).second)
        fail(op.location, kind + " over axis '" + axis(id).name + "' twice", "each axis once");
      if (!union_of(op).count(id)) {
        fail(op.location, "no operand of " + kind + " carries axis '" + axis(id).name + "'",
             "one of " + names(union_of(op)));
      }
    }
  }

  void check_attributes(const Operation& op) const {
    const std::string kind(name_of(op.kind));
    if (op.kind == OpKind::map) {
      const auto& known = map_functions();
      if (std::find(known.begin(), known.end(), op.function) == known.end()) {
        fail(op.location, "unknown function '" + op.function + "'", one_of(op.function, known));
      }
    } else if (op.kind == OpKind::softmax
                   ? !op.function.empty() && !is_normalised(op)
                   : !op.function.empty() && op.kind != OpKind::fold && op.kind != OpKind::scan) {
      fail(op.location, kind + " takes no function", "map " + op.function);
    }
    const bool may_scale =
        op.kind == OpKind::softmax || op.kind == OpKind::map || op.kind == OpKind::contract || op.kind == OpKind::sum;
    if (!may_scale && !(op.scale == Scale{})) {
      fail(op.location, kind + " takes no scale", "a scale on softmax, map, contract or sum");
    }
    if (op.scale.denominator < 1 || !std::isfinite(op.scale.factor) || (op.scale.axis && !known_axis(*op.scale.axis))) {
      fail(op.location, "a scale that is not a number", "for example scale d^-1/2");
    }
    if (op.mask) check_mask(op);
  }

  void check_mask(const Operation& op) const {
    if (op.kind != OpKind::softmax && op.kind != OpKind::map && op.kind != OpKind::multiply) {
      fail(op.location, std::string(name_of(op.kind)) + " takes no mask", "a mask on softmax, map or multiply");
    }
    const auto [row, column] = *op.mask;
    for (AxisId id : {row, column}) {
      if (!known_axis(id) || !array(op.outputs[0]).has(id)) {
        fail(op.location, "the mask names an axis that '" + array(op.outputs[0]).name + "' does not carry",
             "mask (row axis, column axis) of " + names(axes_of(op.outputs[0])));
      }
    }
    for (const Array& a : d_.arrays) {
      if (is_shifted(a, row) || is_shifted(a, column))
        fail(op.location, "a mask over an axis that reads shifted rows of '" + a.name + "'",
             "an axis that none shifts");
    }
    if (row == column) fail(op.location, "the mask's two axes are the same", "mask (row axis, column axis)");
  }

  AxisSet union_of(const Operation& op) const {
    AxisSet all;
    for (ArrayId id : op.inputs) all.merge(axes_of(id));
    return all;
  }

  void check_output_axes(const Operation& op) const {
    AxisSet all = union_of(op);
    AxisSet rest = all;
    for (AxisId id : op.own) rest.erase(id);
    const AxisSet& yields = op.kind == OpKind::softmax || op.kind == OpKind::scan ? all : rest;
    const AxisSet first = axes_of(op.outputs[0]);
    const bool right =
        op.kind == OpKind::copy ? std::includes(first.begin(), first.end(), all.begin(), all.end()) : first == yields;
    if (!right) wrong_axes(op, op.outputs[0], yields);
    for (std::size_t i = 1; i < op.outputs.size(); ++i) {
      if (axes_of(op.outputs[i]) != rest) wrong_axes(op, op.outputs[i], rest);
    }
  }

  [[noreturn]] void wrong_axes(const Operation& op, ArrayId output, const AxisSet& yields) const {
    const Array& a = array(output);
    const Location& where = a.location.line == 0 ? op.location : a.location;
    fail(where, std::string(name_of(op.kind)) + " does not yield " + a.name + "[" + names(axes_of(output)) + "]",
         a.name + "[" + names(yields) + "] in any order" + (op.kind == OpKind::copy ? ", or more axes" : ""));
  }

  void check_results() const {
    if (d_.outputs.empty()) fail({}, "no outputs", "at least one output");
    AxisSet listed;  // set of outputs that were listed, by ArrayId
    for (ArrayId id : d_.outputs) {
      if (!known_array(id) || !defined_[static_cast<std::size_t>(id)])
        fail({}, "an output that nothing computes", "a result");
      if (d_.is_input(id)) {
        fail(array(id).location, "'" + array(id).name + "' is input and output",
             "an output that an operation computes: copy");
      }
      if (!listed.insert(id).second)
        fail(array(id).location, "output '" + array(id).name + "' is listed twice", "once");
    }
    std::vector<bool> used(d_.arrays.size(), false);
    for (ArrayId id : d_.inputs) used[static_cast<std::size_t>(id)] = d_.is_table(id);
    for (const Operation& op : d_.operations) {
      for (ArrayId id : op.inputs) used[static_cast<std::size_t>(id)] = true;
      // A softmax may be used for its log-sum-exp or its sum alone, so its first output counts as used.
      if (op.outputs.size() > 1) used[static_cast<std::size_t>(op.outputs[0])] = true;
    }
    for (std::size_t i = 0; i < d_.arrays.size(); ++i) {
      const Array& a = d_.arrays[i];
      if (!defined_[i])
        fail(a.location, "nothing computes array '" + a.name + "'", "an input or an operation's output");
      if (!used[i] && !d_.is_output(static_cast<ArrayId>(i))) {
        fail(a.location, "array '" + a.name + "' is never used",
             (d_.is_input(static_cast<ArrayId>(i)) ? "use it in an operation" : "list it under outputs") +
                 std::string(", or leave it out"));
      }
    }
  }

  void check_axes_used() const {
    for (std::size_t i = 0; i < d_.axes.size(); ++i) {
      const bool used = std::any_of(d_.arrays.begin(), d_.arrays.end(),
                                    [&](const Array& a) { return carries(a, static_cast<AxisId>(i)); });
      if (!used) {
        fail(d_.axes[i].location, "no array carries axis '" + d_.axes[i].name + "'", "use it, or leave it out");
      }
    }
  }

  const Diagram& d_;
  std::vector<bool> defined_;
};

}  // namespace

void check(const Diagram& diagram) { Checker(diagram).run(); }

}  // namespace napkin::internal
