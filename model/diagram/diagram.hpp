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
#include "model/diagram/fold.hpp"

namespace napkin::internal {

using AxisId = int;   ///< index into Diagram::axes
using ArrayId = int;  ///< index into Diagram::arrays
using OpId = int;     ///< index into Diagram::operations

/// The role of an axis when one kernel computes the diagram.
enum class AxisRole {
  whole,   ///< full size in every group
  group,   ///< divided among independent groups (blocks); no operation consumes it
  stream,  ///< walked in chunks by a group's loop
  split,   ///< divided although consumed: outputs that lack it become partial results, combined afterwards
};

/// A named axis. Its size is given by the question, or is the default: a number or another axis's size.
struct Axis {
  std::string name;
  std::variant<std::monostate, std::int64_t, AxisId> fallback;
  Location location;
  std::optional<AxisRole> role = {};  ///< role that the author gives it; none: derive() chooses
};

/// A dimension of an input that consecutive axes of the array read: "X[x: 2*i + k - 1, c]" reads row 2 i + k - 1, which
/// is 0 outside the array; "K[p: T[n], d]" reads the row that table T names. (diagram/reindex.hpp)
struct Reindex {
  AxisId of = 0;                      ///< axis whose size the dimension has
  std::size_t first = 0;              ///< place in Array::axes of the first axis that reads it
  std::vector<std::int64_t> strides;  ///< strides by axis that reads it; 0 for each axis of a table
  std::int64_t offset = 0;
  std::optional<ArrayId> table = {};
  bool operator==(const Reindex&) const = default;
};

/// A value of the algorithm; the last axis has unit stride.
struct Array {
  std::string name;
  std::vector<AxisId> axes;  ///< axes as operations see them: those that read a dimension, not the stored dimension
  Location location;
  std::vector<Reindex> reindexed = {};  ///< inputs only; in the order of the axes
  std::optional<DType> type = {};       ///< type in memory; none: the question's

  [[nodiscard]] bool has(AxisId axis) const {
    for (AxisId a : axes) {
      if (a == axis) return true;
    }
    return false;
  }
};

enum class OpKind { contract, softmax, map, sum, max, add, subtract, multiply, divide, copy, fold, scan };

/// A factor times a power of an axis's size, factor * size(axis)^(numerator/denominator): "d^-1/2", "0.5".
struct Scale {
  double factor = 1.0;
  std::optional<AxisId> axis;
  int numerator = 0;
  int denominator = 1;
  bool operator==(const Scale&) const = default;
};

/// An operation. `own` are the axes that it consumes (contract, sum, max, fold) or walks (softmax, scan); it maps over
/// every other axis of its outputs, and an input that lacks such an axis is broadcast along it.
struct Operation {
  OpKind kind = OpKind::copy;
  std::vector<ArrayId> outputs;  ///< softmax may have a second output, the log-sum-exp, or two more: maximum and sum
  std::vector<ArrayId> inputs;
  std::vector<AxisId> own;
  std::string function;  ///< map: exp, relu, gelu, silu, ...; fold, scan: the name of one of Diagram::folds
  Scale scale;           ///< softmax and map: multiplies the argument; contract, sum: the result
  /// The (row, column) axes of the mask that the question may ask for. A masked score of a softmax counts as -infinity;
  /// a masked result of a map or a product is 0.
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
  std::vector<Fold> folds;              ///< functions of the author's own
  std::vector<std::string> rewritings;  ///< changes that fusion/rewrite made, for people; empty: none

  [[nodiscard]] std::optional<AxisId> find_axis(std::string_view axis_name) const;
  [[nodiscard]] std::optional<ArrayId> find_array(std::string_view array_name) const;
  [[nodiscard]] AxisId axis(std::string_view axis_name) const;     ///< finds it, or throws Error that lists all
  [[nodiscard]] ArrayId array(std::string_view array_name) const;  ///< finds it, or throws Error that lists all
  [[nodiscard]] std::optional<OpId> producer(ArrayId array) const;
  [[nodiscard]] std::vector<OpId> consumers(ArrayId array) const;
  [[nodiscard]] bool is_input(ArrayId array) const;
  [[nodiscard]] bool is_output(ArrayId array) const;
  [[nodiscard]] bool is_table(ArrayId array) const;  ///< returns true if it names rows of another input
  [[nodiscard]] std::vector<std::string> axis_names() const;
  /// Returns the fold that an operation applies.
  [[nodiscard]] const Fold& fold_of(const Operation& operation) const;
};

/// Returns the functions that `map` knows, in the order in which errors list them.
[[nodiscard]] const std::vector<std::string>& map_functions();
/// Returns true if f(a u) = a f(u) and f(u + v) = f(u) + f(v), so that the map commutes with rescaling and sums.
[[nodiscard]] bool is_linear_map(std::string_view function);
/// Returns true if f(0) = 0, so that the map keeps masked zeros.
[[nodiscard]] bool keeps_zero(std::string_view function);
/// Returns the function that is the derivative of a map's function: "gelu_slope" of "gelu"; "" if there is none.
[[nodiscard]] std::string slope_of(std::string_view function);
/// Returns true if the function has steps alone, so that its derivative is 0.
[[nodiscard]] bool is_flat(std::string_view function);
/// Returns the kind's name: "contract", "softmax", ...
[[nodiscard]] std::string_view name_of(OpKind kind);

/// Compares everything but positions in files.
[[nodiscard]] bool operator==(const Diagram& a, const Diagram& b);

/// Checks every rule of the IR (axes exist, single assignment, use after definition, output axes = what the kind
/// yields, every axis used, ...). Throws Error at the offending place.
void check(const Diagram& diagram);

/// Composes G after F: F's outputs feed G's inputs of the same name; axes are matched by name.
[[nodiscard]] Diagram compose(const Diagram& f, const Diagram& g);
/// Puts F beside G: inputs and outputs are concatenated; equal names must mean equal axes.
[[nodiscard]] Diagram concatenate(const Diagram& f, const Diagram& g);
/// Maps F over a new axis, which every array gets in front except the inputs in `copied`.
[[nodiscard]] Diagram weave(const Diagram& f, const std::string& axis, const std::vector<std::string>& copied);

}  // namespace napkin::internal
