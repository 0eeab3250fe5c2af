#pragma once
// held_clock() of a mix finds the one clock of kernels that take turns, such as the products and the attention of a
// layer: they heat one card, and its power limit binds the mean of all of them. (eq. 16.4 of model/README.md)
//
//   power(f) = idle + tree (f / f0)^(1 + n) + sum of times (E_core (f / f0)^n + E_device) / sum of times t(f)
//
// t(f) falls as the clock rises, or stays where device memory binds, so that the power rises and one clock meets the
// limit.

#include <functional>
#include <span>

#include "model/clock/power/power.hpp"

namespace napkin {

/// Launches of one kind, among those of others.
struct MixPart {
  double times = 1;                      ///< how often it is launched in one round of the mix
  Energy energy;                         ///< of one launch
  std::function<Seconds(Hertz)> time{};  ///< t(f): from its start to the next launch's
};

/// Joules of one launch that takes so long, with its share of what the card takes whatever runs.
[[nodiscard]] Joules energy_at(const PowerLaw& law, const Energy& energy, Hertz clock, Seconds time);

/// The clock that all parts run at, and the mean power. Of no parts: the highest clock and idle power.
[[nodiscard]] HeldClock held_clock(const PowerLaw& law, std::span<const MixPart> parts);

}  // namespace napkin
