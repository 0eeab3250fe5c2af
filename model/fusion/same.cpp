// Two diagrams are compared by what they compute: each array has a text of its operation and of the numbers of its
// operands, and equal texts have one number.

#include <algorithm>
#include <map>

#include "model/diagram/text.hpp"
#include "model/fusion/gradient.hpp"

namespace napkin::internal {
namespace {

class Numbering {
 public:
  /// Returns the interface of a diagram: axes, inputs and outputs by name with their axes and numbers.
  [[nodiscard]] std::string of(const Diagram& d) {
    number_.assign(d.arrays.size(), -1);
    std::vector<std::string> lines;
    for (const Axis& axis : d.axes) lines.push_back("axis " + axis.name + "=" + default_of(d, axis));
    for (ArrayId id : d.inputs) {
      lines.push_back("in " + array(d, id));
      number_[at(id)] = number(lines.back());
    }
    for (const Operation& op : d.operations) {
      const std::string text = operation(d, op);
      for (std::size_t i = 0; i < op.outputs.size(); ++i)
        number_[at(op.outputs[i])] = number(text + "#" + std::to_string(i));
    }
    for (ArrayId id : d.outputs) lines.push_back("out " + array(d, id) + "=" + std::to_string(number_[at(id)]));
    std::sort(lines.begin(), lines.end());
    return joined(lines, "\n");
  }

 private:
  static std::string default_of(const Diagram& d, const Axis& axis) {
    if (const auto* size = std::get_if<std::int64_t>(&axis.fallback)) return std::to_string(*size);
    if (const auto* other = std::get_if<AxisId>(&axis.fallback)) return d.axes[at(*other)].name;
    return "";
  }
  static std::string axes(const Diagram& d, std::vector<AxisId> ids) {
    std::vector<std::string> names;
    for (AxisId a : ids) names.push_back(d.axes[at(a)].name);
    std::sort(names.begin(), names.end());
    return joined(names, ",");
  }
  static std::string array(const Diagram& d, ArrayId id) {
    const Array& its = d.arrays[at(id)];
    return print_array(d, id, [&](AxisId axis) { return d.axes[at(axis)].name; }) +
           (its.type ? std::string(name_of(*its.type)) : "");
  }

  [[nodiscard]] std::string operation(const Diagram& d, const Operation& op) const {
    std::vector<std::string> operands;
    for (ArrayId in : op.inputs) operands.push_back(std::to_string(number_[at(in)]));
    const bool commutes = op.kind == OpKind::contract || op.kind == OpKind::multiply || op.kind == OpKind::add;
    if (commutes) std::sort(operands.begin(), operands.end());
    std::string text = std::string(name_of(op.kind)) + " " + op.function + " over " + axes(d, op.own) + " of " +
                       joined(operands) + " along " + axes(d, d.arrays[at(op.outputs[0])].axes) + " scale " +
                       print_scale(d, op.scale);
    if (op.mask) text += " mask " + d.axes[at((*op.mask)[0])].name + "," + d.axes[at((*op.mask)[1])].name;
    if (const auto& type = d.arrays[at(op.outputs[0])].type) text += " type " + std::string(name_of(*type));
    return text;
  }

  int number(const std::string& text) {
    return numbers_.emplace(text, static_cast<int>(numbers_.size())).first->second;
  }

  std::map<std::string, int> numbers_;
  std::vector<int> number_;  // number of each array of the current diagram
};

}  // namespace

bool same_up_to_names(const Diagram& a, const Diagram& b) {
  if (!(a.folds == b.folds)) return false;
  Numbering numbering;
  return numbering.of(a) == numbering.of(b);
}

}  // namespace napkin::internal
