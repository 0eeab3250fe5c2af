// The checks within a mapping, and between a mapping, the diagram and the machine.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>

#include "model/machine/load.hpp"
#include "model/mapping/asked.hpp"
#include "model/mapping/read/guard_cases.hpp"
#include "model/mapping/read/load.hpp"
#include "model/mapping/read/read.hpp"

namespace napkin::internal {
namespace {

using mapping_text::Reader;

std::vector<std::string> variable_names(const Mapping& m) {
  std::vector<std::string> names;
  for (const VariableMapping& v : m.variables) names.push_back(v.name);
  return names;
}

template <class T>
void need_alternative(const Mapping& m, const Guarded<T>& alternatives, const Location& where,
                      const std::string& field) {
  std::vector<const Guard*> guards;
  for (const auto& [guard, value] : alternatives) {
    if (guard.masks.empty() && guard.axes.empty())
      guards.push_back(&guard);  // a guard of masks or sizes does not hold for every problem
  }
  guards = weakest(guards);
  for_each_case(m, guards, where, [&](const auto& values) {
    if (std::any_of(guards.begin(), guards.end(), [&](const Guard* g) { return holds(*g, values); })) return;
    throw Error(where, field, "no alternative for " + text_of_case(m, guards, values),
                "one more {when: ..., value: ...}");
  });
}

const VariableMapping* find_variable(const Mapping& m, const std::string& name) {
  for (const VariableMapping& v : m.variables) {
    if (v.name == name) return &v;
  }
  return nullptr;
}

void check_aliases(const Mapping& m) {
  for (const VariableMapping& v : m.variables) {
    if (v.alias.empty()) continue;
    const std::string field = "arrays." + v.name + ".alias";
    const VariableMapping* at = find_variable(m, v.alias);
    if (at == nullptr)
      throw Error(v.location, field, "unknown variable '" + v.alias + "'", one_of(v.alias, variable_names(m)));
    if (at->level != v.level) {
      throw Error(v.location, field, "'" + at->name + "' is at level " + at->level + ", '" + v.name + "' at " + v.level,
                  "two variables of one level");
    }
    if (at->scope != v.scope && v.scope == Scope::block) {
      throw Error(v.location, field, "a variable of the block in one of an agent", "scope: agent");
    }
    std::size_t steps = 0;
    for (; at != nullptr && !at->alias.empty(); at = find_variable(m, at->alias)) {
      if (++steps > m.variables.size())
        throw Error(v.location, field, "aliases in a circle", "one variable without alias");
    }
  }
}

/// Checks that an array that has a guarded variable has one in every case.
void check_presence(const Mapping& m) {
  std::vector<std::string> arrays;
  for (const VariableMapping& v : m.variables) arrays.insert(arrays.end(), v.of.begin(), v.of.end());
  std::sort(arrays.begin(), arrays.end());
  arrays.erase(std::unique(arrays.begin(), arrays.end()), arrays.end());
  for (const std::string& array : arrays) {
    std::vector<const Guard*> guards;
    const VariableMapping* first = nullptr;
    for (const VariableMapping& v : m.variables) {
      if (v.output_staging || std::find(v.of.begin(), v.of.end(), array) == v.of.end()) continue;
      if (first == nullptr) first = &v;
      guards.push_back(&v.when);
    }
    if (first == nullptr) {
      continue;  // staging only: written from elsewhere
    }
    for_each_case(m, guards, first->location, [&](const auto& values) {
      if (std::any_of(guards.begin(), guards.end(), [&](const Guard* g) { return holds(*g, values); })) return;
      throw Error(first->location, "arrays",
                  "array '" + array + "' has no variable for " + text_of_case(m, guards, values),
                  "one more variable, or another 'when'");
    });
  }
}

/// Checks that an operand's alternatives cover every case, and that the variable of the alternative that holds exists.
void check_operand(const Mapping& m, const OperationMapping& op, const std::string& array,
                   const Guarded<std::string>& from) {
  const std::string field = "operations." + op.output + ".operands." + array;
  std::vector<const Guard*> guards;
  for (const auto& [guard, name] : from) {
    const VariableMapping* v = find_variable(m, name);
    if (v == nullptr)
      throw Error(op.location, field, "unknown variable '" + name + "'", one_of(name, variable_names(m)));
    if (std::find(v->of.begin(), v->of.end(), array) == v->of.end()) {
      throw Error(op.location, field, "variable '" + name + "' does not hold '" + array + "'",
                  "a variable with of: " + array);
    }
    guards.push_back(&guard);
    guards.push_back(&v->when);
  }
  for_each_case(m, guards, op.location, [&](const auto& values) {
    for (const auto& [guard, name] : from) {
      if (!holds(guard, values)) continue;
      if (holds(find_variable(m, name)->when, values)) return;
      throw Error(op.location, field, "'" + name + "' does not exist for " + text_of_case(m, guards, values),
                  "another 'when'");
    }
    throw Error(op.location, field, "no alternative for " + text_of_case(m, guards, values),
                "one more {when: ..., value: ...}");
  });
}

/// Checks that a guard names sizes only of axes that no block divides: such sizes tell kinds of question apart.
void check_guard(const Mapping& m, const Guard& guard, const Location& where, const std::string& field) {
  for (const auto& [axis, sizes] : guard.axes) {
    for (const LevelMapping& level : m.levels) {
      if (!lists(level.group, axis) && !lists(level.stream, axis)) continue;
      throw Error(where, field, "axis '" + axis + "' is divided among blocks or chunks", "an axis held whole");
    }
  }
}

void check_guards(const Mapping& m) {
  for (const std::string& axis : m.padded) {
    for (const LevelMapping& level : m.levels) {
      if (lists(level.group, axis) || lists(level.stream, axis))
        throw Error(level.location, "sizes." + axis + ".pad_to",
                    "axis '" + axis + "' is divided among blocks or chunks", "a list: of an axis held whole alone");
    }
  }
  for (const Relation& r : m.relations) check_guard(m, r.when, r.location, "relations." + r.name + ".when");
  for (const Agent& a : m.agents) {
    for (const auto& [guard, value] : a.overhead.numbers)
      check_guard(m, guard, a.location, "agents." + a.name + ".overhead");
  }
  for (const OperationMapping& op : m.operations) {
    for (const WorkMapping& w : op.work)
      check_guard(m, w.when, op.location, "operations." + op.output + ".work." + w.name + ".when");
  }
}

void check_operations(const Mapping& m) {
  std::vector<std::string> agents;
  for (const Agent& a : m.agents) agents.push_back(a.name);
  for (const OperationMapping& op : m.operations) {
    if (!op.agent.empty() && std::find(agents.begin(), agents.end(), op.agent) == agents.end()) {
      throw Error(op.location, "operations." + op.output + ".agent", "unknown agent '" + op.agent + "'",
                  one_of(op.agent, agents));
    }
    for (const WorkMapping& work : op.work) {
      if (work.per_thread && op.agent.empty() && work.agent.empty())
        throw Error(op.location, "operations." + op.output + ".work." + work.name + ".per", "threads of no agent",
                    "agent: ...");
      if (work.agent.empty() || std::find(agents.begin(), agents.end(), work.agent) != agents.end()) continue;
      throw Error(op.location, "operations." + op.output + ".work.agent", "unknown agent '" + work.agent + "'",
                  one_of(work.agent, agents));
    }
    for (const auto& [array, from] : op.operands) check_operand(m, op, array, from);
  }
}

void check_movers(const Mapping& m) {
  std::vector<std::string> agents;
  for (const Agent& a : m.agents) agents.push_back(a.name);
  for (const VariableMapping& v : m.variables) {
    if (v.moved_by.empty() || std::find(agents.begin(), agents.end(), v.moved_by) != agents.end()) continue;
    throw Error(v.location, "arrays." + v.name + ".moved_by", "unknown agent '" + v.moved_by + "'",
                one_of(v.moved_by, agents));
  }
}

/// Returns the names that edges may use, sorted: copies, operations and their work ("load K", "store O", "S", "P.max").
std::vector<std::string> nodes_of(const Mapping& m) {
  std::vector<std::string> known;
  for (const VariableMapping& v : m.variables) {
    for (const char* verb : {"load ", "store "}) {
      known.push_back(verb + v.name);
      for (const std::string& array : v.of) known.push_back(verb + array);
    }
  }
  for (const OperationMapping& op : m.operations) {
    known.push_back(op.output);
    for (const WorkMapping& w : op.work) known.push_back(op.output + "." + w.name);
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  return known;
}

void check_node(const std::vector<std::string>& known, const EdgeMapping& edge, const char* end,
                const std::string& node) {
  if (std::binary_search(known.begin(), known.end(), node)) return;
  throw Error(edge.location, std::string("edges.") + end, "unknown node '" + node + "'", one_of(node, known));
}

bool is_auxiliary(const std::string& name) {
  const std::string kind = name.substr(0, name.find('.'));
  return kind == "mu" || kind == "delta" || kind == "z";
}

bool computes(const Diagram& diagram, const Operation& op, const std::string& name) {
  return diagram.arrays[static_cast<std::size_t>(op.outputs[0])].name == name;
}

void check_reference(const Reference& r, const Diagram& diagram) {
  std::vector<std::string> known;
  const auto refuse = [&](const std::string& what) {
    throw Error(r.location, r.field, what + " '" + r.name + "'", one_of(r.name, known));
  };
  switch (r.kind) {
    case Reference::Kind::axis:
    case Reference::Kind::value:
      if (diagram.find_axis(r.name)) return;
      known = diagram.axis_names();
      return refuse(r.kind == Reference::Kind::axis ? "unknown axis" : "neither a knob nor an axis:");
    case Reference::Kind::array:
      if (diagram.find_array(r.name) || is_auxiliary(r.name)) return;
      for (const Array& a : diagram.arrays) known.push_back(a.name);
      return refuse("unknown array");
    case Reference::Kind::operation:
      for (const Operation& op : diagram.operations) {
        if (computes(diagram, op, r.name)) return;
        known.push_back(diagram.arrays[static_cast<std::size_t>(op.outputs[0])].name);
      }
      return refuse("no operation computes");
    default: return;
  }
}

/// Checks that agents are cores of the machine, all or none.
void check_cores(const Mapping& mapping, const Machine& machine) {
  std::vector<std::string> known;
  for (const Core& core : machine.cores) known.push_back(core.name);
  for (const Reference& r : mapping.references) {
    if (r.kind == Reference::Kind::core && machine.core(r.name) == nullptr)
      throw Error(r.location, r.field, machine.name + " has no core '" + r.name + "'",
                  known.empty() ? "a machine with cores, or threads" : one_of(r.name, known));
  }
  const auto is_core = [](const Agent& agent) { return !agent.core.empty(); };
  if (std::none_of(mapping.agents.begin(), mapping.agents.end(), is_core)) return;
  for (const Agent& agent : mapping.agents) {
    if (!is_core(agent))
      throw Error(agent.location, "agents." + agent.name + ".core", "threads beside cores", one_of("", known));
  }
  for (const OperationMapping& op : mapping.operations) {
    if (op.agent.empty())
      throw Error(op.location, "operations." + op.output + ".agent", "no core computes it", "agent: ...");
  }
}

/// Returns 90 for "sm_90" and "sm_90a".
std::optional<int> sm_number(std::string_view architecture) {
  if (!architecture.starts_with("sm_")) return std::nullopt;
  int number = 0;
  const auto [end, code] = std::from_chars(architecture.data() + 3, architecture.data() + architecture.size(), number);
  if (code != std::errc{} || end == architecture.data() + 3) return std::nullopt;
  return number;
}

}  // namespace

namespace mapping_text {

void check_within(const Mapping& m) {
  check_aliases(m);
  check_presence(m);
  check_operations(m);
  check_guards(m);
  check_movers(m);
  for (const VariableMapping& v : m.variables) {
    if (!v.copies.empty()) need_alternative(m, v.copies, v.location, "arrays." + v.name + ".copies");
    if (!v.column_parts.empty()) need_alternative(m, v.column_parts, v.location, "arrays." + v.name + ".column_parts");
  }
  for (const Agent& a : m.agents) {
    need_alternative(m, a.count, a.location, "agents." + a.name + ".count");
    if (!a.registers.empty()) need_alternative(m, a.registers, a.location, "agents." + a.name + ".registers");
    if (!a.overhead.numbers.empty())
      need_alternative(m, a.overhead.numbers, a.location, "agents." + a.name + ".overhead");
  }
  const std::vector<std::string> nodes = nodes_of(m);
  for (const EdgeMapping& edge : m.edges) {
    check_node(nodes, edge, "from", edge.from);
    check_node(nodes, edge, "to", edge.to);
  }
}

}  // namespace mapping_text

std::optional<KnobId> Mapping::find_knob(std::string_view knob_name) const {
  for (std::size_t i = 0; i < knobs.size(); ++i) {
    if (knobs[i].name == knob_name) return static_cast<KnobId>(i);
  }
  return std::nullopt;
}

std::optional<KnobId> Mapping::order_knob() const {
  const auto found = std::find_if(knobs.begin(), knobs.end(), [](const Knob& knob) { return !knob.orders.empty(); });
  if (found == knobs.end()) return std::nullopt;
  return static_cast<KnobId>(found - knobs.begin());
}

void check(const Mapping& mapping, const Diagram& diagram) {
  for (const Reference& r : mapping.references) check_reference(r, diagram);
  check_packs(mapping, diagram);
  for (const Operation& op : diagram.operations) {
    const auto mapped = [&](const OperationMapping& o) { return computes(diagram, op, o.output); };
    const std::string& output = diagram.arrays[static_cast<std::size_t>(op.outputs[0])].name;
    if (!mapping.computed_apart(output) && std::none_of(mapping.operations.begin(), mapping.operations.end(), mapped)) {
      const std::string what = "operation '" + output + "' of " + diagram.name + " is not mapped",
                        right = "operations: {" + output + ": ...}";
      if (mapping.operations.empty()) throw Error(mapping.file, what, right);
      throw Error(mapping.operations.front().location, "operations", what, right);
    }
  }
}

namespace {

/// Lists the types that the machine's instructions take, as an error's advice: "--dtype with one of f16, e4m3".
std::string types_of(const Machine& machine) {
  std::vector<std::string> types;
  for (const TensorInstruction& each : machine.tensor) {
    const std::string name(name_of(each.type));
    if (!lists(types, name)) types.push_back(name);
  }
  return types.empty() ? "a machine with a tensor unit" : "--dtype with one of " + joined(types);
}

}  // namespace

void check(const Mapping& mapping, const Machine& machine, DType dtype) {
  for (const Reference& r : mapping.references) {
    if (r.kind != Reference::Kind::unit || machine.unit(r.name) != nullptr) continue;
    const std::vector<std::string> known = unit_vocabulary();
    if (!lists(known, r.name))
      throw Error(r.location, r.field, "no machine has a unit '" + r.name + "'", one_of(r.name, known));
  }
  for (const Reference& r : mapping.references) {
    if (r.kind != Reference::Kind::level || machine.find_level(r.name)) continue;
    const auto is_optional = [&](const LevelMapping& level) { return level.nodes && level.level == r.name; };
    const bool meets = mapping.combine && mapping.combine->at == r.name;  // the mapping needs this level
    if (!meets && std::any_of(mapping.levels.begin(), mapping.levels.end(), is_optional)) continue;
    if (!mapping.runs_on.empty() && !runs_on(mapping, machine))  // error about the machine, since the file is right
      throw Error("--kernel",
                  fmt::format("{} is made for {}, {} is {} and has no level '{}'", mapping.name,
                              fmt::join(mapping.runs_on, ", "), machine.name, machine.architecture, r.name),
                  "a kernel that runs there (napkin list kernels)");
    std::vector<std::string> known;
    for (const Level& level : machine.levels) known.push_back(level.name);
    throw Error(r.location, r.field, machine.name + " has no level '" + r.name + "'", one_of(r.name, known));
  }
  check_cores(mapping, machine);
  for (const OperationMapping& op : mapping.operations) {
    if (op.unit != "tensor") continue;
    const DType type = op.type == "T" ? dtype : parse_dtype(op.type, mapping.file);
    if (machine.tensor_for(type) == nullptr) {
      const std::string lacks = "no tensor instruction for " + std::string(name_of(type));
      if (op.type == "T") throw Error(machine.name, lacks, types_of(machine));
      throw Error(op.location, "operations." + op.output + ".type", machine.name + " has " + lacks,
                  "another type or machine");
    }
  }
}

bool runs_on(const Mapping& mapping, const Machine& machine) { return runs_on(mapping, machine.architecture); }

bool runs_on(const Mapping& mapping, const std::string& architecture) {
  return std::any_of(mapping.runs_on.begin(), mapping.runs_on.end(), [&](const std::string& name) {
    if (!name.ends_with('+')) return name == architecture;
    const auto least = sm_number(std::string_view(name).substr(0, name.size() - 1));
    const auto have = sm_number(architecture);
    return least && have && *have >= *least;
  });
}

}  // namespace napkin::internal
