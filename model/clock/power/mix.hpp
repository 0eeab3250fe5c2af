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

namespace napkin::internal {

/// The launches of one kind in a mix with others.
struct MixPart {
  double times = 1;                      ///< launches in a round of the mix
  Energy energy;                         ///< energy of a launch
  std::function<Seconds(Hertz)> time{};  ///< time from its start to the next launch's, t(f)
};

/// Returns the joules of a launch of that time, its share of the card's constant power included.
[[nodiscard]] Joules energy_at(const PowerLaw& law, const Energy& energy, Hertz clock, Seconds time);

/// Finds the clock at which all parts run, and the mean power; for no parts the highest clock and idle power.
[[nodiscard]] HeldClock held_clock(const PowerLaw& law, std::span<const MixPart> parts);

}  // namespace napkin::internal
