// Problems of a few blocks, each selected tile of two kernels measured: the kernel that select answers is the faster
// one.
#include <algorithm>
#include <map>
#include <string>

#include "tests/measured/row.hpp"

namespace test_small {

namespace {

using cli::Json;

/// Returns measured times by shape and kernel.
std::map<std::string, std::map<std::string, double>> measured() {
  std::map<std::string, std::map<std::string, double>> out;
  for (const Json& row : measured::rows_of("small/few_blocks.jsonl"))
    out[cli::pairs(row["shape"])][row["kernel"].get<std::string>()] = row["measured"]["time"].get<double>();
  return out;
}

TEST_CASE("of problems of a few blocks the faster kernel is selected") {
  int compared = 0;
  for (const auto& [shape, times] : measured()) {
    if (times.size() < 2) continue;
    CAPTURE(shape);
    const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
    const std::string fastest = std::min_element(times.begin(), times.end(), less)->first;
    CHECK(cli::asked({"select", "attention", "--gpu", "h200-sxm", "--bundled", "--json", "--shape", shape})["kernel"] ==
          fastest);
    ++compared;
  }
  CHECK(compared >= 11);
}

}  // namespace

}  // namespace test_small
