#pragma once
// assumed_clock() returns the clock of a time where no power model gives it: 1.83 GHz on an H200, the clock of its
// datasheet's tensor peak.

#include <string_view>

#include "model/machine/machine.hpp"

namespace napkin::internal {

/// Returns the time that every call takes beside its kernel; 0 if the profile does not have it.
[[nodiscard]] Seconds launch_overhead(const Machine& machine);

/// The clock that predictions assume: the profile's tensor clock, else its maximum, else its base, else 1 GHz.
struct AssumedClock {
  Hertz frequency{1e9};
  std::string_view source = "no clock in the profile: 1 GHz";
};
[[nodiscard]] AssumedClock assumed_clock(const Machine& machine);

}  // namespace napkin::internal
