#include "apps/napkin/colours.hpp"

#include <algorithm>

#include "model/mapping/place/parts.hpp"

namespace napkin::internal::cli {
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

 private:
  [[nodiscard]] const std::string& level(LevelId id) const { return p_.machine->levels[at(id)].name; }

  [[nodiscard]] static bool holds(const Variable& v, ArrayId array) {
    return std::find(v.arrays.begin(), v.arrays.end(), array) != v.arrays.end();
  }
  /// Returns the first variable that holds the whole array, else the first that holds what an iteration adds to it.
  [[nodiscard]] const Variable* variable_of(ArrayId array, bool staging) const {
    const Variable* part = nullptr;
    for (const Variable& v : p_.variables) {
      if (v.output_staging != staging || !holds(v, array)) continue;
      if (!v.part) return &v;
      if (part == nullptr) part = &v;
    }
    return part;
  }
  [[nodiscard]] const Variable* part_of(ArrayId array) const {
    for (const Variable& v : p_.variables) {
      if (v.part && holds(v, array)) return &v;
    }
    return nullptr;
  }

  /// Describes a variable's place: "in shared as bf16, 2 copies".
  [[nodiscard]] std::string place(const Variable& v) const {
    std::string text = level(v.level);
    if (v.type != DType::value) text += " as " + std::string(name_of(v.type));
    if (v.copies > Count(1)) text += ", " + std::to_string(v.copies.get()) + " copies";
    return text;
  }

  /// Lists the variables that hold the array on its way to its reader, if there are several: "P' in registers as f16, P
  /// in shared as f16".
  [[nodiscard]] std::string variables_of(ArrayId array) const {
    std::vector<std::string> all;
    for (const Variable& v : p_.variables) {
      if (!v.output_staging && !v.part && holds(v, array)) all.push_back(mapping_of(v).name + " in " + place(v));
    }
    return all.size() > 1 ? joined(all, ", ") : "";
  }

  [[nodiscard]] std::string kept(ArrayId array) const {
    const Variable* v = variable_of(array, false);
    return v == nullptr ? "" : "in " + place(*v);
  }

  /// Lists the levels that the array passes, device memory first (for a store last).
  [[nodiscard]] std::string moved(ArrayId array, bool store) const {
    std::vector<std::string> path;
    if (!store) path.push_back(level(0));
    const Variable* home = variable_of(array, false);
    for (const Crossing& c : p_.crossings) {
      if (c.array != array || c.store != store || c.auxiliary >= 0) continue;
      const bool adds = c.variable >= 0 && p_.variables[at(c.variable)].part;
      if (adds && home != nullptr && !home->part) continue;  // a part, on its way to the variable that sums it up
      if (!store && !c.fills && c.variable >= 0) continue;   // an operand, on its way to the unit that computes with it
      if (std::find(path.begin(), path.end(), level(c.into)) == path.end()) path.push_back(level(c.into));
    }
    const Variable* v = variable_of(array, store);
    if (v == nullptr) v = home;
    if (store) path.push_back(level(0));
    std::string text = joined(path, " -> ");
    if (v == nullptr) return text;
    if (v->type != DType::value) text += ", " + std::string(name_of(v->type));
    return v->copies > Count(1) ? text + ", " + std::to_string(v->copies.get()) + " copies" : text;
  }

  [[nodiscard]] std::string computed(OpId id) const {
    const auto found = std::find_if(p_.operations.begin(), p_.operations.end(),
                                    [&](const PlacedOperation& op) { return op.operation == id; });
    if (found == p_.operations.end()) return "";
    std::string text = unit_of(*found);
    std::vector<std::string> operands;
    for (const auto& [array, from] : found->operands) operands.push_back(name(array) + " in " + level(from));
    if (!operands.empty()) text += "; " + joined(operands);
    const ArrayId made = d_.operations[at(id)].outputs[0];
    const Variable *home = variable_of(made, false), *part = part_of(made);
    if (part != nullptr && part != home) text += "; " + mapping_of(*part).name + " in " + place(*part);
    if (const std::string all = variables_of(made); !all.empty()) return text + "; " + all;
    const std::string out = kept(made);
    return out.empty() ? text : text + "; " + name(made) + " " + out;
  }

  [[nodiscard]] std::string unit_of(const PlacedOperation& op) const {
    const Agent* agent = op.agent >= 0 ? &p_.mapping->agents[at(p_.agents[at(op.agent)].mapping)] : nullptr;
    std::string text = "threads";
    if (agent != nullptr && !agent->core.empty()) text = agent->core + " core";
    if (op.tensor) text = op.instruction != nullptr ? op.instruction->name : "products";
    if (agent != nullptr && p_.mapping->agents.size() > 1) text += " by " + agent->name;
    return text;
  }

  [[nodiscard]] const std::string& name(ArrayId id) const { return d_.arrays[at(id)].name; }
  [[nodiscard]] const VariableMapping& mapping_of(const Variable& v) const {
    return p_.mapping->variables[at(v.mapping)];
  }

  const PlacedDiagram& p_;
  const Diagram& d_;
};

}  // namespace

Colours colours_of(const PlacedDiagram& placed) {
  return [colourer = Colourer(placed)](const Statement& statement) { return colourer.of(statement); };
}

std::string coloured_program(const PlacedDiagram& placed) {
  return print_pseudocode(*placed.streamed, program_of(*placed.streamed, parts_of(placed)), colours_of(placed));
}

}  // namespace napkin::internal::cli
