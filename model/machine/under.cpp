#include "model/machine/under.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "model/base/error.hpp"

namespace napkin::internal {
namespace {

constexpr double no_limit = 1e6;  // watts, more than any card takes

/// Lowers the clocks to the driver's lock. The SMs' clock under matrix load falls in proportion.
void lock_clock(Machine& machine, double clock) {
  const double highest = machine.clocks.maximum ? machine.clocks.maximum->value : clock;
  const auto beside = machine.constants.find("clock_beside_tensor");
  if (beside != machine.constants.end()) beside->second.value *= std::min(1.0, clock / highest);
  for (auto* stated : {&machine.clocks.maximum, &machine.clocks.tensor, &machine.clocks.base}) {
    if (*stated && (*stated)->value > clock) (*stated)->value = clock;
  }
}

/// Sets the clock at which the SMs were read to run, also beside products.
void hold_clock(Machine& machine, double clock) {
  lock_clock(machine, clock);
  const auto beside = machine.constants.find("clock_beside_tensor");
  if (beside != machine.constants.end()) beside->second.value = clock;
  if (machine.power.limit) machine.power.limit->value = no_limit;
}

}  // namespace

Watts power_limit(const Machine& machine, const CardLoad& load, const std::string& where) {
  if (!machine.power.limit)
    throw Error(where, machine.name + " has no power.limit", "a profile that states it (docs/own-gpu.md)");
  const double limit = machine.power.limit->value;
  if (load.kind == CardLoad::Kind::sustained) return Watts(limit);
  if (!machine.power.burst)
    throw Error(where, machine.name + " has no power.burst: what it holds in a burst was not measured",
                "sustained, or a profile that states it (docs/own-gpu.md)");
  const double burst = machine.power.burst->value;
  if (load.kind == CardLoad::Kind::burst) return Watts(burst);
  const double idle = machine.power.idle ? machine.power.idle->value : 0;
  return Watts(std::min(burst, (limit - (1 - load.fraction) * idle) / load.fraction));
}

Machine under(Machine machine, const CardConditions& conditions, const std::string& where) {
  if (conditions.clock) {
    if (machine.clocks.maximum && *conditions.clock > machine.clocks.maximum->value)
      throw Error("--clock", fmt::format("{:g} GHz is above the maximum of {}", *conditions.clock / 1e9, machine.name),
                  fmt::format("at most {:g} GHz", machine.clocks.maximum->value / 1e9));
    lock_clock(machine, *conditions.clock);
  }
  if (conditions.load.kind != CardLoad::Kind::sustained)
    machine.power.limit->value = power_limit(machine, conditions.load, where).value;
  if (conditions.limit && machine.power.limit) {
    if (machine.power.idle && *conditions.limit <= machine.power.idle->value)
      throw Error("--power", fmt::format("{:g} W is not above the idle power of {}", *conditions.limit, machine.name),
                  fmt::format("more than {:g} W", machine.power.idle->value));
    machine.power.limit->value = *conditions.limit;
  }
  if (conditions.held) hold_clock(machine, *conditions.held);
  // In a cold cache no data remain from the launch before, whatever their size.
  if (const auto kept = machine.constants.find("l2_working_set"); conditions.cold && kept != machine.constants.end())
    kept->second.value = 0;
  return machine;
}

}  // namespace napkin::internal
