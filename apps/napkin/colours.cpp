#include "apps/napkin/colours.hpp"

#include <algorithm>

namespace napkin::cli {
namespace {

class Colourer {
 public:
  explicit Colourer(const PlacedDiagram& placed) : p_(placed), d_(placed.streamed->diagram) {}

  [[nodiscard]] std::string of(const Statement& statement) const {
    switch (statement.kind) {
      case Statement::Kind::load: return moved(*statement.array, false);
      case Statement::Kind::store: return moved(*statement.array, true);
      case Statement::Kind::initialise: return statement.array ? kept(*statement.array) : "";
      case Statement::Kind::compute: return statement.array ? "" : computed(*statement.operation);
      case Statement::Kind::rescale:
      case Statement::Kind::normalise: return "";
    }
    return "";
  }

  /// Axes of what the operation reads or makes that a variable holds in part.
  [[nodiscard]] std::vector<SubLoop> sub_loops(const Statement& statement) const {
    std::vector<SubLoop> out;
    if (statement.kind != Statement::Kind::compute || statement.array) return out;
    const Operation& op = d_.operations[at(*statement.operation)];
    for (const std::vector<ArrayId>* arrays : {&op.inputs, &op.outputs}) {
      for (const ArrayId array : *arrays) add_parts(array, op, out);
    }
    return out;
  }

 private:
  [[nodiscard]] const std::string& level(LevelId id) const { return p_.machine->levels[at(id)].name; }

  [[nodiscard]] const Variable* variable_of(ArrayId array, bool staging) const {
    for (const Variable& v : p_.variables) {
      if (v.output_staging == staging && std::find(v.arrays.begin(), v.arrays.end(), array) != v.arrays.end())
        return &v;
    }
    return nullptr;
  }

  /// "in shared as bf16, 2 copies"
  [[nodiscard]] std::string place(const Variable& v) const {
    std::string text = level(v.level);
    if (v.type != DType::value) text += " as " + std::string(name_of(v.type));
    if (v.copies > Count(1)) text += ", " + std::to_string(v.copies.get()) + " copies";
    return text;
  }

  [[nodiscard]] std::string kept(ArrayId array) const {
    const Variable* v = variable_of(array, false);
    return v == nullptr ? "" : "in " + place(*v);
  }

  /// The levels that it passes, device memory first (a store: last).
  [[nodiscard]] std::string moved(ArrayId array, bool store) const {
    std::vector<std::string> path;
    if (!store) path.push_back(level(0));
    for (const Crossing& c : p_.crossings) {
      if (c.array != array || c.store != store || c.auxiliary >= 0) continue;
      if (!store && !c.fills && c.variable >= 0) continue;  // an operand's way on to who computes with it
      if (std::find(path.begin(), path.end(), level(c.into)) == path.end()) path.push_back(level(c.into));
    }
    const Variable* v = variable_of(array, store);
    if (v == nullptr) v = variable_of(array, false);
    if (store) path.push_back(level(0));
    std::string text = joined(path, " -> ");
    if (v == nullptr) return text;
    if (v->type != DType::value) text += ", " + std::string(name_of(v->type));
    return v->copies > Count(1) ? text + ", " + std::to_string(v->copies.get()) + " copies" : text;
  }

  [[nodiscard]] std::string computed(OpId id) const {
    for (const PlacedOperation& op : p_.operations) {
      if (op.operation != id) continue;
      std::string text = op.tensor && op.instruction != nullptr ? op.instruction->name
                         : op.tensor                            ? "products"
                                                                : "threads";
      if (op.agent >= 0 && p_.mapping->agents.size() > 1)
        text += " by " + p_.mapping->agents[at(p_.agents[at(op.agent)].mapping)].name;
      std::vector<std::string> operands;
      for (const auto& [array, from] : op.operands)
        operands.push_back(d_.arrays[at(array)].name + " in " + level(from));
      const std::string out = kept(d_.operations[at(id)].outputs[0]);
      if (!operands.empty()) text += "; " + joined(operands);
      return out.empty() ? text : text + "; " + d_.arrays[at(d_.operations[at(id)].outputs[0])].name + " " + out;
    }
    return "";
  }

  void add_parts(ArrayId array, const Operation& op, std::vector<SubLoop>& out) const {
    for (const Variable& v : p_.variables) {
      if (std::find(v.arrays.begin(), v.arrays.end(), array) == v.arrays.end()) continue;
      for (const auto& [name, value] : p_.mapping->variables[at(v.mapping)].sizes) {
        const bool knob = value.kind == Value::Kind::knob;
        if (!knob && value.kind != Value::Kind::literal) continue;
        const AxisId axis = d_.axis(name);
        const Count part = knob ? Count(p_.tile.values[at(value.knob)]) : Count(value.literal);
        const Count whole = p_.streamed->stream == axis ? p_.block().chunk : p_.block().extent[at(axis)];
        const bool known = std::any_of(out.begin(), out.end(), [&](const SubLoop& s) { return s.axis == axis; });
        if (part >= whole || known || !(op.owns(axis) || d_.arrays[at(op.outputs[0])].has(axis))) continue;
        out.push_back({axis, (knob ? p_.mapping->knobs[at(value.knob)].name + "=" : "") + std::to_string(part.get())});
      }
    }
  }

  const PlacedDiagram& p_;
  const Diagram& d_;
};

}  // namespace

Colours colours_of(const PlacedDiagram& placed) {
  const Colourer colourer(placed);
  return {[colourer](const Statement& statement) { return colourer.of(statement); },
          [colourer](const Statement& statement) { return colourer.sub_loops(statement); }};
}

}  // namespace napkin::cli
