#pragma once
// How sure a prediction is, and why: "3.0 % off in the mean over 1,042 recorded rows of that kernel; 82 % of what
// decides it was measured here". Internal to apps/.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/library/answer.hpp"
#include "apps/library/bands.hpp"
#include "apps/library/request.hpp"
#include "apps/library/sensitivity.hpp"

namespace napkin {

struct SurenessAnswer {
  bool by_graph = false;            ///< the event graph predicted; else the fullest pipe, which is a bound
  bool ideal = false;               ///< a bound that holds for every kernel
  std::vector<ClassError> classes;  ///< of that kernel: that architecture's first
  bool own_class = false;           ///< the first of them is of that architecture and clock
  /// What decided the time, by where the numbers come from: shares of the sum of |d ln time / d ln number|, largest
  /// first ("measured", "counted", "fitted", "datasheet", "derived", "unverified").
  std::vector<std::pair<std::string, double>> bases;
  std::optional<double> least, most;  ///< seconds: nine of ten of such predictions lie between, as far as that is known
};

/// What is known today of the class that the prediction belongs to.
[[nodiscard]] SurenessAnswer sureness_of(const Request& request, const Layout& layout, const PredictedAnswer& predicted,
                                         bool by_graph, const std::vector<SensitivityRow>& numbers);

}  // namespace napkin
