// Four tiles of attention_sm90 with turns and without (turns/with_and_without.jsonl), six readings of half a second
// each in turn on two cards that had been at work: the clock and the cycles of each, predicted.

#include <cmath>
#include <map>
#include <string>

#include "tests/measured/row.hpp"

namespace test_turns {

using cli::Json;
using measured::median;
using measured::number;

namespace {

/// The means of one tile's readings on one card.
struct Readings {
  Json row;
  std::vector<double> clocks, cycles;
};

std::map<std::string, Readings> settled() {
  std::map<std::string, Readings> out;
  for (const Json& row : measured::rows_of("turns/with_and_without.jsonl")) {
    if (row["settled"] != true) continue;
    Readings& of = out[row["card"].dump() + row["shape"].dump() + row["mask"].dump() + row["tile"].dump()];
    of.row = row;
    of.clocks.push_back(number(row, "cycles") / number(row, "time"));
    of.cycles.push_back(number(row, "cycles"));
  }
  return out;
}

}  // namespace

TEST_CASE("with turns and without, on two cards at work: the clock is predicted within 2.2 %, cycles within 3.5 %") {
  const auto all = settled();
  CHECK(all.size() == 16);
  for (const auto& [name, readings] : all) {
    CAPTURE(name);
    REQUIRE(readings.clocks.size() == 6);
    const Json predicted = measured::predicted(readings.row);
    const double clock = number(predicted, "cycles") / number(predicted, "time");
    CHECK(std::abs(clock / median(readings.clocks) - 1) <= 0.022);
    CHECK(std::abs(number(predicted, "cycles") / median(readings.cycles) - 1) <= 0.035);
  }
}

}  // namespace test_turns
