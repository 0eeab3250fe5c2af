// One tile with turns and without, in turn (turns/with_and_without.jsonl): readings of half a second on cards that were idle
// before, and on cards that had been at work for a minute or more. How fine a pick between tiles of equal cycles can be
// checked.
#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/golden/cli.hpp"

namespace test_turns {

namespace {

using cli::Json;

using Clocks = std::vector<double>;
struct Pair {
  Clocks with, without;
};

double median(Clocks of) {
  std::sort(of.begin(), of.end());
  return of.size() % 2 == 1 ? of[of.size() / 2] : (of[of.size() / 2 - 1] + of[of.size() / 2]) / 2;
}

/// Of the highest over the lowest.
double range(const Clocks& of) {
  const auto [least, most] = std::minmax_element(of.begin(), of.end());
  return *most / *least - 1;
}

/// By card and problem.
std::map<std::pair<int, std::string>, Pair> pairs(bool settled) {
  std::istringstream text(cli::contents(NAPKIN_SOURCE_DIR "/tests/measured/turns/with_and_without.jsonl"));
  std::map<std::pair<int, std::string>, Pair> out;
  for (std::string line; std::getline(text, line);) {
    const Json row = cli::parse(line);
    if (row["settled"] != settled) continue;
    Json tile = row["tile"];
    tile.erase("pingpong");
    Pair& pair = out[{row["card"].get<int>(), row["shape"].dump() + row["mask"].dump() + tile.dump()}];
    (row["tile"]["pingpong"] == "on" ? pair.with : pair.without)
        .push_back(row["cycles"].get<double>() / row["time"].get<double>());
  }
  return out;
}

}  // namespace

TEST_CASE(
    "four pairs alike but for turns, two cards at work: six readings each have the same clock within 1.3 % in the "
    "median") {
  const auto all = pairs(true);
  CHECK(all.size() == 8);
  for (const auto& [problem, pair] : all) {
    CAPTURE(problem.second);
    REQUIRE(pair.with.size() == 6);
    REQUIRE(pair.without.size() == 6);
    CHECK(std::abs(median(pair.without) / median(pair.with) - 1) <= 0.013);
  }
}

TEST_CASE("one reading says less: on cards that were idle they range over up to 7 %, on cards at work over up to 3") {
  const auto most = [](bool settled) {
    double out = 0;
    for (const auto& [problem, pair] : pairs(settled)) out = std::max({out, range(pair.with), range(pair.without)});
    return out;
  };
  CHECK(most(true) <= 0.03);
  CHECK(most(false) > 0.06);
  CHECK(most(false) <= 0.075);
}

}  // namespace test_turns
