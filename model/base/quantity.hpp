#pragma once
// A Quantity is a number with a unit: Bytes / Seconds is a bandwidth, and Bytes + Seconds does not compile. The few
// meaningful quotients and products do.

#include <compare>

#include "model/base/count.hpp"

namespace napkin {

/// A number of type Rep in the unit named by the tag Unit.
template <class Unit, class Rep>
struct Quantity {
  Rep value{};

  constexpr Quantity() = default;
  explicit constexpr Quantity(Rep v) : value(v) {}

  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value + b.value); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value - b.value); }
  friend constexpr Quantity operator*(Quantity a, Rep s) { return Quantity(a.value * s); }
  friend constexpr Quantity operator*(Rep s, Quantity a) { return Quantity(s * a.value); }
  friend constexpr Quantity operator/(Quantity a, Rep s) { return Quantity(a.value / s); }
  constexpr Quantity& operator+=(Quantity b) { return *this = *this + b; }
  constexpr Quantity& operator-=(Quantity b) { return *this = *this - b; }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr bool operator==(Quantity, Quantity) = default;
};

using Values = Quantity<struct ValueUnit, Count>;  ///< numbers moved or held, whatever their type
using Bytes = Quantity<struct ByteUnit, Count>;
using Flops = Quantity<struct FlopUnit, Count>;  ///< floating-point operations (not a rate)
using Cycles = Quantity<struct CycleUnit, double>;
using Seconds = Quantity<struct SecondUnit, double>;
using Hertz = Quantity<struct HertzUnit, double>;
using Watts = Quantity<struct WattUnit, double>;
using Joules = Quantity<struct JouleUnit, double>;
using BytesPerSecond = Quantity<struct BytesPerSecondUnit, double>;

/// Returns the ratio of two quantities of one unit, as a plain number.
template <class Unit, class Rep>
[[nodiscard]] constexpr double ratio(Quantity<Unit, Rep> a, Quantity<Unit, Rep> b) {
  return static_cast<double>(a.value) / static_cast<double>(b.value);
}

[[nodiscard]] constexpr Seconds operator/(Bytes a, BytesPerSecond b) {
  return Seconds(static_cast<double>(a.value) / b.value);
}
[[nodiscard]] constexpr Seconds operator/(Cycles a, Hertz b) { return Seconds(a.value / b.value); }
[[nodiscard]] constexpr Cycles operator*(Seconds a, Hertz b) { return Cycles(a.value * b.value); }
[[nodiscard]] constexpr Joules operator*(Watts a, Seconds b) { return Joules(a.value * b.value); }

}  // namespace napkin
