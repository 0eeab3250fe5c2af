// Pairs of launches alike but for turns (turns/h200.jsonl, each measured in one pass): how far two clocks of equal
// cycles differ, and so how fine a pick among such pairs can be checked.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

#include "tests/golden/cli.hpp"

namespace test_turns {

namespace {

using cli::Json;

struct Pair {
  Json with, without;
};

double cycles(const Json& row) { return row["measured"]["cycles"].get<double>(); }

double clock(const Json& row) { return cycles(row) / row["measured"]["time"].get<double>(); }

/// Each pair's rows stand one behind the other.
std::vector<Pair> pairs() {
  std::istringstream text(cli::contents(NAPKIN_SOURCE_DIR "/tests/measured/turns/h200.jsonl"));
  std::vector<Json> rows;
  for (std::string line; std::getline(text, line);) rows.push_back(cli::parse(line));
  REQUIRE(rows.size() % 2 == 0);
  std::vector<Pair> out;
  for (std::size_t i = 0; i < rows.size(); i += 2) out.push_back({rows[i], rows[i + 1]});
  return out;
}

}  // namespace

TEST_CASE("34 pairs alike but for turns: clocks differ by -2.6 to +4.5 %, 0.4 % in the mean, cycles by 3 % at most") {
  std::vector<double> ratios;
  for (Pair pair : pairs()) {
    REQUIRE(pair.with["tile"]["pingpong"] == "on");
    REQUIRE(pair.without["tile"]["pingpong"] == "off");
    ratios.push_back(clock(pair.without) / clock(pair.with) - 1);
    CHECK(std::abs(cycles(pair.without) / cycles(pair.with) - 1) <= 0.03);
    pair.with["tile"]["pingpong"] = "off";
    for (const char* same : {"tile", "shape", "mask", "dtype", "revision"})
      CHECK(pair.with[same] == pair.without[same]);
  }
  REQUIRE(ratios.size() == 34);
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  // As README.md says them, to a tenth of a percent.
  CHECK(std::abs(*least + 0.026) <= 0.0005);
  CHECK(std::abs(*most - 0.045) <= 0.0005);
  CHECK(std::abs(std::accumulate(ratios.begin(), ratios.end(), 0.0) / static_cast<double>(ratios.size()) - 0.004) <=
        0.0005);
}

}  // namespace test_turns
