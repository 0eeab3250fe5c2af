#pragma once
// The sensitivity of a prediction says what a percent more of a number would change: "units.special.rate -0.31" means
// that exponentials 1 % faster make the kernel 0.31 % faster. Each comes from running the clock again.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/library/answer.hpp"

namespace napkin {

/// One number of the machine, or one instruction count of the mapping.
struct SensitivityRow {
  std::string name;  ///< "pipes.l2.bandwidth_per_node"; of the mapping "P.exp on special"
  std::string unit;  ///< as the profile writes it; of the mapping "results" of that unit
  double value = 0;  ///< in that unit
  bool mapping = false;
  std::string basis;  ///< where it comes from: "measured", "fitted", "datasheet", "derived"; of the mapping "counted"
  double elasticity =
      0;  ///< d ln time / d ln value: central difference over 1 %, of counts of things over one more and less
  bool more_is_better = true;  ///< of a rate, a size or a count; of a time or an energy less is
  double if_better = 0;        ///< time with the number twice as good, over today's, minus 1; -0.05 means 5 % faster
  /// What limits when the number gets better, and from which factor on (2: twice as much, or half as long); none where
  /// nothing else comes to limit up to a factor of 16.
  std::optional<double> next_factor;
  std::string next_bound;
};

struct SensitivityAnswer {
  Head head;
  PredictedAnswer predicted;
  std::vector<SensitivityRow> rows;  ///< largest effect first; those without any effect are left out
  std::int64_t numbers = 0;          ///< that were tried
  /// What decides the time, by where the numbers come from: shares of the sum of |elasticity|, largest first.
  [[nodiscard]] std::vector<std::pair<std::string, double>> shares_by_basis() const;
};

}  // namespace napkin
