#pragma once
// calibrate() gets from readings to a machine: it says which number of a profile follows from which experiment, and
// how. It is a pure function.

#include <optional>
#include <string>
#include <vector>

#include "model/machine/calibrate/fit.hpp"
#include "model/machine/calibrate/reading.hpp"
#include "model/machine/machine.hpp"

namespace napkin {

/// Who measured, when, under which driver.
struct Stamp {
  std::string tool, date, driver;
};

/// One number of a profile, as measured.
struct Finding {
  std::string name;              ///< its place in the profile: "units.special.beside_tensor", "constants.barrier_128"
  Number number;                 ///< four significant digits
  int runs = 0;                  ///< repetitions behind it
  std::optional<double> before;  ///< what the base's predictions used, in number.unit; none: not known
  bool placed = false;           ///< stands in the calibrated machine
  std::string why;               ///< where it does not
};

struct Calibration {
  Machine machine;  ///< the base with what was found in its place; the rest keeps its source
  std::vector<Finding> findings;
};

/// What the readings say, for each number that they suffice for. Numbers that the base has no place for are left out of
/// it. Throws Error where readings are no numbers.
[[nodiscard]] Calibration calibrate(const Machine& base, const Readings& readings, const Stamp& stamp);

}  // namespace napkin
