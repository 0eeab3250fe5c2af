#pragma once
// calibrate() derives a machine's numbers from readings, each number of a profile from its experiment. It is a pure
// function.

#include <optional>
#include <string>
#include <vector>

#include "model/machine/calibrate/fit.hpp"
#include "model/machine/calibrate/reading.hpp"
#include "model/machine/machine.hpp"

namespace napkin::internal {

/// The origin of a measurement: person or tool, date, driver.
struct Stamp {
  std::string tool, date, driver;
};

/// A measured number of a profile.
struct Finding {
  std::string name;              ///< place in the profile: "units.special.beside_tensor", "constants.barrier_128"
  Number number;                 ///< four significant digits
  int runs = 0;                  ///< repetitions that it rests on
  std::optional<double> before;  ///< value that the base's predictions used, in number.unit; none: not known
  bool placed = false;           ///< true if the calibrated machine has it
  std::string why;               ///< reason why it was not put into the profile
};

struct Calibration {
  Machine machine;  ///< the base with the findings in their places; other numbers keep their source
  std::vector<Finding> findings;
};

/// Computes each number that the readings suffice for, leaving out numbers that the base has no place for. Throws Error
/// if readings are no numbers.
[[nodiscard]] Calibration calibrate(const Machine& base, const Readings& readings, const Stamp& stamp);

}  // namespace napkin::internal
