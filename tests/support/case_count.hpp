// rounds() returns the number of a property's cases that a run takes: all, or the share in percent that
// NAPKIN_TEST_SHARE gives. In script/test the optimised run takes half and the sanitized run, which looks for crashes,
// a tenth; --long takes all.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace napkin::internal::test {

inline int rounds(int all) {
  const char* share = std::getenv("NAPKIN_TEST_SHARE");
  const int percent = share == nullptr ? 100 : std::clamp(std::atoi(share), 1, 100);
  return std::max(all * percent / 100, 1);
}

/// As many cases as rounds() says, spread evenly over the list.
template <class Case>
std::vector<Case> share_of(const std::vector<Case>& all) {
  if (all.empty()) return {};
  const auto kept = static_cast<std::size_t>(rounds(static_cast<int>(all.size())));
  std::vector<Case> out;
  for (std::size_t i = 0; i < kept; ++i) out.push_back(all[i * all.size() / kept]);
  return out;
}

}  // namespace napkin::internal::test
