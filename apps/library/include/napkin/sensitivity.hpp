#pragma once
// The sensitivity of a prediction is its change for a percent more of a number: "units.special.rate -0.31" means that
// exponentials 1 % faster make the kernel 0.31 % faster. Each comes from running the clock again.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "napkin/answers.hpp"

namespace napkin {

/// A number of the machine, or an instruction count of the mapping.
struct SensitivityRow {
  std::string name;  ///< name: "pipes.l2.bandwidth_per_node"; for a count of the mapping "P.exp on special"
  std::string unit;  ///< unit, as the profile writes it; for a count "results" of that unit
  double value = 0;  ///< today's value
  bool mapping = false;
  std::string basis;      ///< source class: "measured", "fitted", "datasheet", "derived"; for a count "counted"
  double elasticity = 0;  ///< d ln time / d ln value: central difference over 1 %; a whole number moves by 1 each way
  bool more_is_better = true;  ///< true for a rate, a size or a count; false for a time or an energy
  double if_better = 0;        ///< change of time with the number twice as good, as a fraction: -0.05 means 5 % faster
  /// The smallest factor of improvement at which another resource limits (2: twice as much, or half as long); none up
  /// to a factor of 16.
  std::optional<double> next_factor;
  std::string next_bound;
};

struct SensitivityAnswer {
  Head head;
  PredictedAnswer predicted;
  std::vector<SensitivityRow> rows;  ///< numbers, largest effect first, without those that have none
  std::int64_t numbers = 0;          ///< numbers that were tried
  /// Returns the shares of the effect by source class: parts of the sum of |elasticity|, largest first.
  [[nodiscard]] std::vector<std::pair<std::string, double>> shares_by_basis() const;
};

}  // namespace napkin
