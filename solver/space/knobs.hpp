#pragma once
// These functions find the knobs that a part of a mapping depends on: those that its guards, values and axes name.

#include <optional>
#include <string>
#include <vector>

#include "model/diagram/diagram.hpp"
#include "model/fusion/streamed.hpp"
#include "model/mapping/knobs.hpp"
#include "model/mapping/mapping.hpp"

namespace napkin::internal {

[[nodiscard]] KnobSet knobs_of(const Guarded<Value>& alternatives);
[[nodiscard]] KnobSet knobs_of(const Overhead& overhead);

/// Returns the knobs that size an axis at any level: those in `sizes`, and those named AXIS or LEVEL.AXIS.
[[nodiscard]] KnobSet knobs_of_axis(const Mapping& mapping, const std::string& axis);

/// Returns knobs_of_axis() for every axis of a diagram, by AxisId.
[[nodiscard]] std::vector<KnobSet> knobs_by_axis(const Diagram& diagram, const Mapping& mapping);

/// Returns the knobs that a thread's registers depend on: those of agents and of variables at level "registers".
[[nodiscard]] KnobSet knobs_of_registers(const Streamed& streamed, const Mapping& mapping);
/// Returns the knobs that a block's shared memory depends on: those of variables and of the agents that own them; also
/// guards of edges, if lifetimes may let two variables share storage.
[[nodiscard]] KnobSet knobs_of_shared(const Streamed& streamed, const Mapping& mapping);

/// Returns the value that sizes an axis at that level of the mapping: its entry in `sizes`, else the knob LEVEL.AXIS,
/// else, at the lowest staged level, the knob AXIS. Nothing if no knob and no literal sizes it there.
[[nodiscard]] std::optional<Value> size_of_axis(const Mapping& mapping, const LevelMapping& level,
                                                const std::string& axis);

/// Returns the level of a block: the lowest with a streamed axis, else the lowest that groups an axis by a knob of its
/// name; nullptr if there is none.
[[nodiscard]] const LevelMapping* block_level_of(const Mapping& mapping);

}  // namespace napkin::internal
