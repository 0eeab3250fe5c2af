#pragma once
// These functions say which knobs a part of a mapping depends on, read off its structure: the guards, values and axes
// that name them.

#include <optional>
#include <string>
#include <vector>

#include "model/diagram/diagram.hpp"
#include "model/fusion/streamed.hpp"
#include "model/mapping/knobs.hpp"
#include "model/mapping/mapping.hpp"

namespace napkin {

[[nodiscard]] KnobSet knobs_of(const Guarded<Value>& alternatives);
[[nodiscard]] KnobSet knobs_of(const Overhead& overhead);

/// The knobs that size an axis at any level: those of `sizes`, and the knobs called AXIS or LEVEL.AXIS.
[[nodiscard]] KnobSet knobs_of_axis(const Mapping& mapping, const std::string& axis);

/// knobs_of_axis() of every axis of a diagram, by AxisId.
[[nodiscard]] std::vector<KnobSet> knobs_by_axis(const Diagram& diagram, const Mapping& mapping);

/// The knobs that a thread's registers depend on: variables at level "registers" and the agents.
[[nodiscard]] KnobSet knobs_of_registers(const Streamed& streamed, const Mapping& mapping);
/// The knobs that a block's shared memory depends on: variables and the agents that own them; where lifetimes may let
/// two variables share storage, also what orders the operations (guards of edges).
[[nodiscard]] KnobSet knobs_of_shared(const Streamed& streamed, const Mapping& mapping);

/// The value that sizes an axis at the level of the mapping with that name: its entry in `sizes`, else the knob
/// LEVEL.AXIS, else, at the lowest staged level, the knob AXIS. Nothing where no knob and no literal sizes it there.
[[nodiscard]] std::optional<Value> size_of_axis(const Mapping& mapping, const LevelMapping& level,
                                                const std::string& axis);

/// The level at which a block lives: the lowest one that has a streamed axis, else the lowest that groups one by a knob
/// of the axis's name. nullptr where there is none.
[[nodiscard]] const LevelMapping* block_level_of(const Mapping& mapping);

}  // namespace napkin
