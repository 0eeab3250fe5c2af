#include "model/mapping/knobs.hpp"

#include <cstddef>

#include "model/mapping/register_table.hpp"

namespace napkin::internal {

KnobSet knobs_of(const Value& value) {
  if (value.kind == Value::Kind::knob) return knob_bit(value.knob);
  KnobSet set = 0;
  if (value.kind != Value::Kind::table) return set;
  for (const KnobId knob : value.table->knobs()) set |= knob_bit(knob);
  return set;
}

KnobSet knobs_of(const Guard& guard) {
  KnobSet set = 0;
  for (const auto& [knob, values] : guard.all) set |= knob_bit(knob);
  return set;
}

bool holds(const Guard& guard, const Tile& tile) {
  for (const auto& [knob, values] : guard.all) {
    bool any = false;
    for (const std::int64_t value : values) any |= value == tile.values[static_cast<std::size_t>(knob)];
    if (!any) return false;
  }
  return true;
}

}  // namespace napkin::internal
