#pragma once
// A Diagram is the intermediate form of an algorithm: named axes, arrays over them, and operations between arrays in
// execution order, such as S[q, x] = contract over d (Q, K). It knows no machine. (model/README.md, "Diagrams"; the
// text form is diagram/text.hpp.)

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/base/count.hpp"
#include "model/base/dtype.hpp"
#include "model/base/error.hpp"

namespace napkin {

using AxisId = int;   ///< index into Diagram::axes
using ArrayId = int;  ///< index into Diagram::arrays
using OpId = int;     ///< index into Diagram::operations

/// A named axis. Its size is given by the question, or is the default: a number or another axis's size.
struct Axis {
  std::string name;
  std::variant<std::monostate, std::int64_t, AxisId> fallback;
  Location location;
};

/// A dimension of an input that is read by consecutive axes of the array: of "X[x: 2*i + k - 1, c]" row 2 i + k - 1,
/// which counts as 0 outside the array; of "K[p: T[n], d]" the row that the table T names. (diagram/reindex.hpp)
struct Reindex {
  AxisId of = 0;                      ///< whose size the dimension has
  std::size_t first = 0;              ///< place in Array::axes of the first axis that reads it
  std::vector<std::int64_t> strides;  ///< by axis that reads it; of a table 0 each
  std::int64_t offset = 0;
  std::optional<ArrayId> table = {};
  bool operator==(const Reindex&) const = default;
};

/// A value of the algorithm; the last axis has unit stride.
struct Array {
  std::string name;
  std::vector<AxisId> axes;  ///< of the operations: what reads a dimension, not what it is stored along
  Location location;
  std::vector<Reindex> reindexed = {};  ///< inputs only; in the order of the axes
  std::optional<DType> type = {};       ///< in memory; nothing: the question's

  [[nodiscard]] bool has(AxisId axis) const {
    for (AxisId a : axes) {
      if (a == axis) return true;
    }
    return false;
  }
};

enum class OpKind { contract, softmax, map, sum, max, add, subtract, multiply, divide, copy };

/// factor * size(axis)^(numerator/denominator): "d^-1/2", "0.5".
struct Scale {
  double factor = 1.0;
  std::optional<AxisId> axis;
  int numerator = 0;
  int denominator = 1;
  bool operator==(const Scale&) const = default;
};

/// One operation. `own` are the axes that it consumes (contract, sum, max) or normalises over (softmax); it is weaved
/// over every other axis of its outputs, and an input that lacks such an axis is copied along it.
struct Operation {
  OpKind kind = OpKind::copy;
  std::vector<ArrayId> outputs;  ///< softmax may have a second output: the log-sum-exp
  std::vector<ArrayId> inputs;
  std::vector<AxisId> own;
  std::string function;  ///< map: exp, relu, gelu, silu, negate, identity, square, reciprocal, ...
  Scale scale;           ///< softmax and map: multiplies the argument; contract, sum: the result
  /// The (row, column) axes of the mask that the question may ask for. A masked score of a softmax counts as
  /// -infinity; what a masked map or product makes is 0.
  std::optional<std::array<AxisId, 2>> mask;
  Location location;

  [[nodiscard]] bool owns(AxisId axis) const {
    for (AxisId a : own) {
      if (a == axis) return true;
    }
    return false;
  }
};

/// A whole algorithm: a directed acyclic graph in single-assignment form; operations stand in execution order.
struct Diagram {
  std::string name;
  std::string about;
  std::vector<Axis> axes;
  std::vector<Array> arrays;
  std::vector<Operation> operations;
  std::vector<ArrayId> inputs;
  std::vector<ArrayId> outputs;
  std::vector<std::string> rewritings;  ///< what fusion/rewrite did to it, for people; empty: as it was written

  [[nodiscard]] std::optional<AxisId> find_axis(std::string_view axis_name) const;
  [[nodiscard]] std::optional<ArrayId> find_array(std::string_view array_name) const;
  [[nodiscard]] AxisId axis(std::string_view axis_name) const;     ///< throws Error naming the known ones
  [[nodiscard]] ArrayId array(std::string_view array_name) const;  ///< throws Error naming the known ones
  [[nodiscard]] std::optional<OpId> producer(ArrayId array) const;
  [[nodiscard]] std::vector<OpId> consumers(ArrayId array) const;
  [[nodiscard]] bool is_input(ArrayId array) const;
  [[nodiscard]] bool is_output(ArrayId array) const;
  [[nodiscard]] bool is_table(ArrayId array) const;  ///< names rows of another input
  [[nodiscard]] std::vector<std::string> axis_names() const;
};

/// The functions that `map` knows, in the order in which errors list them.
[[nodiscard]] const std::vector<std::string>& map_functions();
/// f(a u) = a f(u) and f(u + v) = f(u) + f(v): such a map commutes with a rescale and with a sum.
[[nodiscard]] bool is_linear_map(std::string_view function);
/// f(0) = 0: such a map leaves a masked zero alone.
[[nodiscard]] bool keeps_zero(std::string_view function);
/// "contract", "softmax", ...
[[nodiscard]] std::string_view name_of(OpKind kind);

/// Equal up to positions.
[[nodiscard]] bool operator==(const Diagram& a, const Diagram& b);

/// Checks every rule of the IR (axes exist, single assignment, use after definition, output axes = what the kind
/// yields, every axis used, ...). Throws Error at the offending place.
void check(const Diagram& diagram);

/// G after F: F's outputs feed G's inputs of the same name; axes are matched by name.
[[nodiscard]] Diagram compose(const Diagram& f, const Diagram& g);
/// F beside G: inputs and outputs are concatenated; equal names must mean equal axes.
[[nodiscard]] Diagram concatenate(const Diagram& f, const Diagram& g);
/// F weaved over a new axis, put in front of every array but the inputs that are named in `copied`.
[[nodiscard]] Diagram weave(const Diagram& f, const std::string& axis, const std::vector<std::string>& copied);

}  // namespace napkin
