#pragma once
// A KnobSet is a set of a mapping's knobs, and holds() tests if a tile's knobs meet a guard: {when: {stages: 2}} holds
// for stages=2. Placement, rules and search all ask it.

#include <cstdint>

#include "model/mapping/mapping.hpp"
#include "model/mapping/tile.hpp"

namespace napkin::internal {

/// A set of knobs: bit i is KnobId i. The reader refuses a mapping with more than 64 knobs.
using KnobSet = std::uint64_t;

[[nodiscard]] constexpr KnobSet knob_bit(KnobId knob) { return KnobSet{1} << static_cast<unsigned>(knob); }

[[nodiscard]] KnobSet knobs_of(const Value& value);
[[nodiscard]] KnobSet knobs_of(const Guard& guard);

[[nodiscard]] bool holds(const Guard& guard, const Tile& tile);
/// Returns the first alternative whose guard holds, or nullptr.
template <class T>
[[nodiscard]] const T* choose(const Guarded<T>& alternatives, const Tile& tile) {
  for (const auto& [guard, value] : alternatives) {
    if (holds(guard, tile)) return &value;
  }
  return nullptr;
}

}  // namespace napkin::internal
