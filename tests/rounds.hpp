// How many of a property's cases a run takes: all, or the share in percent that NAPKIN_TEST_SHARE names. script/test
// gives the sanitized run a tenth: it looks for crashes, the optimised run for counterexamples.
#pragma once

#include <algorithm>
#include <cstdlib>

namespace napkin::test {

inline int rounds(int all) {
  const char* share = std::getenv("NAPKIN_TEST_SHARE");
  const int percent = share == nullptr ? 100 : std::clamp(std::atoi(share), 1, 100);
  return std::max(all * percent / 100, 1);
}

}  // namespace napkin::test
