#pragma once
// waits_of() finds the barriers of a run: threads that begin the moment another lane's work is done, P.exp after S
// say. An ideal schedule's barriers all wait for the tensor unit. Internal to apps/report.

#include <vector>

#include "apps/library/answer/timeline.hpp"

namespace napkin::internal::report {

/// A span of threads that waited for another lane's span.
struct Wait {
  std::size_t span = 0, on = 0;  ///< indices into Timeline::spans
};

[[nodiscard]] std::vector<Wait> waits_of(const TimelineAnswer& r);

}  // namespace napkin::internal::report
