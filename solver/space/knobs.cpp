#include "solver/space/knobs.hpp"

#include <algorithm>

namespace napkin::internal {
namespace {

/// Returns true if the knob's name is LEVEL.AXIS.
bool is_called(const Knob& knob, std::string_view level, std::string_view axis) {
  return knob.name.size() == level.size() + 1 + axis.size() && knob.name[level.size()] == '.' &&
         knob.name.compare(0, level.size(), level) == 0 && knob.name.compare(level.size() + 1, axis.size(), axis) == 0;
}

template <class T>
KnobSet guards_of(const Guarded<T>& alternatives) {
  KnobSet set = 0;
  for (const auto& [guard, value] : alternatives) set |= knobs_of(guard);
  return set;
}

/// Calls visit(axes) with the axes of each array and auxiliary that a variable holds.
template <class Visit>
void visit_held(const Streamed& streamed, const VariableMapping& variable, const Visit& visit) {
  const auto visit_name = [&](const std::string& name) {
    if (const auto array = streamed.diagram.find_array(name)) {
      return visit(streamed.diagram.arrays[static_cast<std::size_t>(*array)].axes);
    }
    for (const Auxiliary& auxiliary : streamed.auxiliaries) {
      if (auxiliary.name == name) visit(auxiliary.axes);
    }
  };
  if (variable.of.empty()) visit_name(variable.name);
  for (const std::string& name : variable.of) visit_name(name);
}

Value knob_value(KnobId knob) { return Value{Value::Kind::knob, 0, knob, {}}; }

KnobSet knobs_of_agent(const Mapping& mapping, const Agent& agent) {
  KnobSet set = knobs_of(agent.count) | knobs_of(agent.threads) | knobs_of(agent.registers) | knobs_of(agent.overhead);
  for (const std::string& axis : agent.splits) set |= knobs_of_axis(mapping, axis);
  return set;
}

/// Returns the knobs that decide whether a variable exists, its copies and its partial sizes.
KnobSet knobs_of_variable(const VariableMapping& variable) {
  KnobSet set = knobs_of(variable.copies) | knobs_of(variable.when);
  if (variable.divided) set |= knobs_of(*variable.divided);
  for (const auto& [axis, size] : variable.sizes) set |= knobs_of(size);
  return set;
}

/// Returns the knobs that size the axes of a variable.
KnobSet knobs_of_axes(const Streamed& streamed, const std::vector<KnobSet>& by_axis, const VariableMapping& variable) {
  KnobSet set = 0;
  for (const std::string& axis : variable.axes) set |= by_axis[static_cast<std::size_t>(streamed.diagram.axis(axis))];
  visit_held(streamed, variable, [&](const std::vector<AxisId>& axes) {
    for (const AxisId axis : axes) set |= by_axis[static_cast<std::size_t>(axis)];
  });
  return set;
}

}  // namespace

KnobSet knobs_of(const Guarded<Value>& alternatives) {
  KnobSet set = guards_of(alternatives);
  for (const auto& [guard, value] : alternatives) set |= knobs_of(value);
  return set;
}

KnobSet knobs_of(const Overhead& overhead) {
  KnobSet set = knobs_of(overhead.numbers);
  if (overhead.table == nullptr) return set;
  for (const KnobId knob : overhead.table->knobs()) set |= knob_bit(knob);
  return set;
}

KnobSet knobs_of_axis(const Mapping& mapping, const std::string& axis) {
  KnobSet set = 0;
  for (KnobId k = 0; k < static_cast<KnobId>(mapping.knobs.size()); ++k) {
    const Knob& knob = mapping.knobs[static_cast<std::size_t>(k)];
    if (knob.name == axis) set |= knob_bit(k);
    if (knob.name.size() <= axis.size() + 1 || knob.name[knob.name.size() - axis.size() - 1] != '.') continue;
    for (const LevelMapping& level : mapping.levels) {
      if (is_called(knob, level.level, axis)) set |= knob_bit(k);
    }
  }
  for (const LevelMapping& level : mapping.levels) {
    for (const auto* sizes : {&level.sizes, &level.parts}) {
      for (const auto& [name, size] : *sizes) {
        if (name == axis) set |= knobs_of(size);
      }
    }
  }
  return set;
}

std::vector<KnobSet> knobs_by_axis(const Diagram& diagram, const Mapping& mapping) {
  std::vector<KnobSet> out;
  out.reserve(diagram.axes.size());
  for (const Axis& axis : diagram.axes) out.push_back(knobs_of_axis(mapping, axis.name));
  return out;
}

KnobSet knobs_of_registers(const Streamed& streamed, const Mapping& mapping) {
  const std::vector<KnobSet> by_axis = knobs_by_axis(streamed.diagram, mapping);
  KnobSet set = 0;
  for (const Agent& agent : mapping.agents) set |= knobs_of_agent(mapping, agent);
  for (const VariableMapping& variable : mapping.variables) {
    if (variable.level == "registers") set |= knobs_of_variable(variable) | knobs_of_axes(streamed, by_axis, variable);
  }
  return set;
}

KnobSet knobs_of_shared(const Streamed& streamed, const Mapping& mapping) {
  const std::vector<KnobSet> by_axis = knobs_by_axis(streamed.diagram, mapping);
  KnobSet set = 0;
  int sharers = 0;  // variables of the threads' own that lifetimes could let share
  bool agents = false;
  for (const VariableMapping& variable : mapping.variables) {
    if (variable.level == "registers") continue;
    set |= knobs_of_variable(variable) | knobs_of_axes(streamed, by_axis, variable);
    if (variable.engine == CopyEngine::none && !variable.output_staging) ++sharers;
    agents |= variable.scope == Scope::agent;
  }
  for (const Agent& agent : mapping.agents) {
    if (agents) set |= knobs_of(agent.count);
  }
  for (const EdgeMapping& edge : mapping.edges) {
    if (sharers > 1) set |= knobs_of(edge.when);
  }
  return set;
}

const LevelMapping* block_level_of(const Mapping& mapping) {
  const LevelMapping* streamed = nullptr;
  const LevelMapping* grouped = nullptr;
  for (const LevelMapping& level : mapping.levels) {
    if (!level.stream.empty()) streamed = &level;
    if (level.nodes) continue;
    const bool own = std::any_of(level.group.begin(), level.group.end(),
                                 [&](const std::string& axis) { return mapping.find_knob(axis).has_value(); });
    if (own && !grouped) grouped = &level;
  }
  return streamed ? streamed : grouped;
}

std::optional<Value> size_of_axis(const Mapping& mapping, const LevelMapping& level, const std::string& axis) {
  for (const auto& [name, size] : level.sizes) {
    if (name == axis) return size;
  }
  for (KnobId k = 0; k < static_cast<KnobId>(mapping.knobs.size()); ++k) {
    if (is_called(mapping.knobs[static_cast<std::size_t>(k)], level.level, axis)) return knob_value(k);
  }
  const auto knob = mapping.find_knob(axis);
  if (!knob || &level != block_level_of(mapping)) return std::nullopt;
  return knob_value(*knob);
}

}  // namespace napkin::internal
