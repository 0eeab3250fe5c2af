#pragma once
// These functions say which knobs a part of a mapping depends on, read off its structure: the guards, values and axes
// that name them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/diagram/problem.hpp"
#include "model/fusion/streamed.hpp"
#include "model/mapping/mapping.hpp"
#include "model/mapping/tile.hpp"

namespace napkin {

/// A set of knobs: bit i is KnobId i. A mapping with more than 64 knobs is refused (Error) by knob_bit().
using KnobSet = std::uint64_t;

[[nodiscard]] inline KnobSet knob_bit(KnobId knob) {
  if (knob < 0 || knob >= 64) throw Error("knobs", "more than 64 knobs", "at most 64");
  return KnobSet{1} << knob;
}

[[nodiscard]] KnobSet knobs_of(const Value& value);
[[nodiscard]] KnobSet knobs_of(const Guard& guard);
template <class T>
[[nodiscard]] KnobSet guards_of(const Guarded<T>& alternatives) {
  KnobSet set = 0;
  for (const auto& [guard, value] : alternatives) set |= knobs_of(guard);
  return set;
}
[[nodiscard]] KnobSet knobs_of(const Guarded<Value>& alternatives);
[[nodiscard]] KnobSet knobs_of(const Overhead& overhead);

/// Returns the knobs that size an axis at any level: those in `sizes`, and those named AXIS or LEVEL.AXIS.
[[nodiscard]] KnobSet knobs_of_axis(const Mapping& mapping, const std::string& axis);

/// Returns knobs_of_axis() for every axis of a diagram, by AxisId.
[[nodiscard]] std::vector<KnobSet> knobs_by_axis(const Diagram& diagram, const Mapping& mapping);

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

/// Returns the knobs that the event graph's edges depend on, through guards and tokens.
[[nodiscard]] KnobSet knobs_of_edges(const Mapping& mapping);

/// Returns the knobs that a thread's registers depend on: those of agents and of variables at level "registers".
[[nodiscard]] KnobSet knobs_of_registers(const Streamed& streamed, const Mapping& mapping);
/// Returns the knobs that a block's shared memory depends on: those of variables and of the agents that own them; also
/// guards of edges, if lifetimes may let two variables share storage.
[[nodiscard]] KnobSet knobs_of_shared(const Streamed& streamed, const Mapping& mapping);

/// Returns a value's number in a tile: a literal, a knob's value, or the full size of an axis. Throws Error for an axis
/// that the diagram does not have.
[[nodiscard]] Count value_number(const Value& value, const Tile& tile, const Diagram& diagram, const Problem& problem);
[[nodiscard]] bool guard_holds(const Guard& guard, const Tile& tile);
/// Returns the first alternative whose guard holds, or nullptr.
template <class T>
[[nodiscard]] const T* choose(const Guarded<T>& alternatives, const Tile& tile) {
  for (const auto& [guard, value] : alternatives) {
    if (guard_holds(guard, tile)) return &value;
  }
  return nullptr;
}

/// Returns the value that sizes an axis at that level of the mapping: its entry in `sizes`, else the knob LEVEL.AXIS,
/// else, at the lowest staged level, the knob AXIS. Nothing if no knob and no literal sizes it there.
[[nodiscard]] std::optional<Value> size_of_axis(const Mapping& mapping, const LevelMapping& level,
                                                const std::string& axis);

/// Returns the level of a block: the lowest with a streamed axis, else the lowest that groups an axis by a knob of its
/// name; nullptr if there is none.
[[nodiscard]] const LevelMapping* block_level_of(const Mapping& mapping);

}  // namespace napkin
