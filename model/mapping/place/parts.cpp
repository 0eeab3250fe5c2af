#include "model/mapping/place/parts.hpp"

#include <algorithm>

namespace napkin::internal {
namespace {

class Finder {
 public:
  explicit Finder(const PlacedDiagram& placed) : p_(placed), d_(placed.streamed->diagram) {}

  [[nodiscard]] std::vector<Part> of(const Statement& statement) const {
    std::vector<Part> out;
    if (statement.kind == Statement::Kind::store) add(*statement.array, true, out);
    if (statement.kind != Statement::Kind::compute || statement.array) return out;
    const Operation& op = d_.operations[at(*statement.operation)];
    for (const std::vector<ArrayId>* arrays : {&op.inputs, &op.outputs}) {
      for (const ArrayId array : *arrays) add(array, false, out);
    }
    for (Part& part : out) part.renews = op.owns(part.axis) && renews(*statement.operation, part.axis);
    return out;
  }

 private:
  [[nodiscard]] const VariableMapping& mapping_of(const Variable& v) const {
    return p_.mapping->variables[at(v.mapping)];
  }

  void add(ArrayId array, bool staging, std::vector<Part>& out) const {
    for (const Variable& v : p_.variables) {
      if (v.output_staging != staging || std::find(v.arrays.begin(), v.arrays.end(), array) == v.arrays.end()) continue;
      for (const auto& [name, value] : mapping_of(v).sizes) add_part(d_.axis(name), value, out);
    }
  }

  void add_part(AxisId axis, const Value& value, std::vector<Part>& out) const {
    const bool knob = value.kind == Value::Kind::knob;
    if (!knob && value.kind != Value::Kind::literal) return;
    const Count size = knob ? Count(p_.tile.values[at(value.knob)]) : Count(value.literal);
    const Count whole = p_.streamed->stream == axis ? p_.block().chunk : p_.block().extent[at(axis)];
    const bool known = std::any_of(out.begin(), out.end(), [&](const Part& part) { return part.axis == axis; });
    if (size < Count(1) || size >= whole || known) return;
    const std::string number = std::to_string(size.get());
    out.push_back({axis, size, knob ? p_.mapping->knobs[at(value.knob)].name + "=" + number : number});
  }

  /// Returns true if the softmax, or what its factor rescales, has work for each part of the axis.
  [[nodiscard]] bool renews(OpId softmax, AxisId axis) const {
    const std::string& name = d_.axes[at(axis)].name;
    return std::any_of(p_.operations.begin(), p_.operations.end(), [&](const PlacedOperation& op) {
      if (op.operation != softmax && p_.streamed->operations[at(op.operation)].rescaled_by != softmax) return false;
      return std::any_of(op.work.begin(), op.work.end(), [&](const PlacedWork& work) {
        const auto& parts = work.mapping->per_chunk;
        return std::any_of(parts.begin(), parts.end(), [&](const auto& part) { return part.first == name; });
      });
    });
  }

  const PlacedDiagram& p_;
  const Diagram& d_;
};

}  // namespace

PartsOf parts_of(const PlacedDiagram& placed) {
  return [&placed](const Statement& statement) { return Finder(placed).of(statement); };
}

}  // namespace napkin::internal
