#include "model/machine/calibrate/reading.hpp"

#include <algorithm>

namespace napkin::internal {

std::string_view Reading::parameter(std::string_view name) const {
  const auto found = with.find(name);
  return found == with.end() ? std::string_view() : found->second;
}

std::vector<const Reading*> matching(const Readings& readings, std::string_view experiment, std::string_view quantity,
                                     const Conditions& with) {
  std::vector<const Reading*> out;
  for (const Reading& reading : readings) {
    const bool fits = reading.experiment == experiment && reading.quantity == quantity &&
                      std::all_of(with.begin(), with.end(),
                                  [&](const auto& each) { return reading.parameter(each.first) == each.second; });
    if (fits) out.push_back(&reading);
  }
  return out;
}

}  // namespace napkin::internal
