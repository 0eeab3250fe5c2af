#include "model/clock/power/mix.hpp"

#include <cmath>

#include "model/machine/calibrate/fit.hpp"

namespace napkin::internal {
namespace {

constexpr int halvings = 60;

double watts_at(const PowerLaw& law, std::span<const MixPart> parts, double clock) {
  double energy = 0, seconds = 0;
  for (const MixPart& part : parts) {
    const double time = part.time(Hertz(clock)).value;
    energy += part.times * energy_at(law, part.energy, Hertz(clock), Seconds(time)).value;
    seconds += part.times * time;
  }
  return seconds > 0 ? energy / seconds : law.idle;
}

}  // namespace

Joules energy_at(const PowerLaw& law, const Energy& energy, Hertz clock, Seconds time) {
  const double ratio = clock.value / energy_clock, raised = std::pow(ratio, law.exponent);
  return Joules((law.idle + law.tree * ratio * raised) * time.value + energy.core * raised + energy.device);
}

HeldClock held_clock(const PowerLaw& law, std::span<const MixPart> parts) {
  double high = law.highest, low = 0;
  if (law.limit > 0 && watts_at(law, parts, high) > law.limit) {
    for (int i = 0; i < halvings; ++i) {
      const double middle = (low + high) / 2;
      (watts_at(law, parts, middle) > law.limit ? high : low) = middle;
    }
  }
  return {Hertz(high), Watts(watts_at(law, parts, high))};
}

}  // namespace napkin::internal
