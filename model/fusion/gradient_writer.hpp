#pragma once
// A GradientWriter holds the diagram of the gradients while it is written, with the steps that all rules share: values
// of the forward, products summed down to an operand's axes. Internal to the folder.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/diagram/diagram.hpp"

namespace napkin::internal::gradients {

/// Returns the product of two scales, or nothing if they are powers of two axes.
[[nodiscard]] std::optional<Scale> composed(const Scale& a, const Scale& b);

class GradientWriter {
 public:
  /// Begins the diagram with the axes of `forward`, in which each softmax has its log-sum-exp, and no scale if the
  /// operation before it can take it.
  explicit GradientWriter(const Diagram& forward);

  [[nodiscard]] const Diagram& forward() const { return f_; }
  [[nodiscard]] const Array& array(ArrayId id) const { return b_.arrays[static_cast<std::size_t>(id)]; }

  /// Returns the value of an array of the forward: given where the forward takes or stores it, else computed again.
  ArrayId value(ArrayId forward);
  /// Lets the forward diagram store an array. To be called before value() of that array.
  void store(ArrayId forward);
  /// Adds the input dO of an output O.
  ArrayId given(ArrayId output);

  /// Returns the name of an array's gradient: "dO"; "dO_" if the forward has an array of that name.
  [[nodiscard]] std::string gradient_name(ArrayId forward) const;
  /// Appends an operation on arrays of this diagram; its result has the axes of its operands without `own`, those of
  /// `order` first.
  ArrayId apply(Operation op, const std::string& name, const std::vector<AxisId>& order = {});
  ArrayId apply(OpKind kind, std::vector<ArrayId> inputs, const std::string& name);
  ArrayId map(const std::string& function, ArrayId input, const Scale& scale, const std::string& name);
  /// Returns scale * input; the input itself for a scale of 1.
  ArrayId scaled(ArrayId input, const Scale& scale, const std::string& name);
  /// Sums the product of `terms` over the axes of `space` that `kept` lacks. A result that is equal along an axis of
  /// `kept` lacks it.
  ArrayId sum_of_product(const std::vector<ArrayId>& terms, const std::set<AxisId>& space,
                         const std::vector<AxisId>& kept, const Scale& scale, const std::string& name);
  /// Repeats an array along the axes that it lacks, in that order.
  ArrayId spread(ArrayId input, const std::vector<AxisId>& axes, const std::string& name);

  /// Makes `array` the output of that name.
  void output(ArrayId array, const std::string& name);
  [[nodiscard]] bool has_outputs() const { return !b_.outputs.empty(); }
  /// Returns the finished diagram, without operations that no output needs; the forward stores no value that it does
  /// not take.
  Diagram finish();

 private:
  [[nodiscard]] std::string fresh(const std::string& name) const;
  ArrayId add(const std::string& name, std::vector<AxisId> axes, const Array* like);
  ArrayId take(ArrayId forward);
  void compute(OpId forward);
  void forget_untaken();

  Diagram f_, b_;
  std::size_t outputs_;                         // number of the question's outputs, the first ones of the forward
  std::vector<std::optional<ArrayId>> values_;  // array of this diagram, by array of the forward
};

}  // namespace napkin::internal::gradients
