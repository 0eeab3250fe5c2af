#include "model/clock/roofline/assumed_clock.hpp"

namespace napkin::internal {

AssumedClock assumed_clock(const Machine& machine) {
  const Clocks& c = machine.clocks;
  if (c.tensor) return {Hertz(c.tensor->value), "datasheet tensor clock"};
  if (c.maximum) return {Hertz(c.maximum->value), "maximum clock"};
  if (c.base) return {Hertz(c.base->value), "base clock"};
  return {};
}

Seconds launch_overhead(const Machine& machine) {
  const Number* gap = machine.find_constant("launch_gap");
  return Seconds(gap != nullptr && gap->value > 0 ? gap->value : machine.constant_or("launch_overhead", 0));
}

}  // namespace napkin::internal
