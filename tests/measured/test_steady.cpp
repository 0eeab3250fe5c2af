// Loads of seconds under the card's power limit (steady/h200.jsonl): the clock that the SMs ran at and what the card
// took, predicted. Split as design section 7 has it: s = 4096 without a mask, d = 64 and 128, is calibration, the rest
// held out.

#include <cmath>
#include <map>
#include <sstream>
#include <vector>

#include "tests/golden/cli.hpp"

namespace test_steady {

namespace {

using cli::Json;

std::vector<Json> rows() {
  std::istringstream text(cli::contents(NAPKIN_SOURCE_DIR "/tests/measured/steady/h200.jsonl"));
  std::vector<Json> out;
  for (std::string line; std::getline(text, line);) out.push_back(cli::parse(line));
  return out;
}

bool held_out(const Json& row) {
  return row["mask"] != "none" || row["shape"]["q"] != 4096 || row["shape"]["d"] == 256;
}

std::string word_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

std::string list_of(const Json& object) {
  std::string out;
  for (const auto& [key, value] : object.items()) out += (out.empty() ? "" : ",") + key + "=" + word_of(value);
  return out;
}

Json predicted(const Json& row) {
  std::vector<std::string> words{
      "query",   "attention",           "--gpu",  "h200-sxm",          "--kernel", "attention_sm90", "--json",
      "--shape", list_of(row["shape"]), "--tile", list_of(row["tile"])};
  if (row["mask"] == "causal") words.emplace_back("--causal");
  const cli::Run run = cli::napkin(words);
  REQUIRE_MESSAGE(run.code == 0, run.err);
  return run.json()["predicted"];
}

/// Predicted over measured, less one: of the clock (cycles over wall time), the power and the time.
struct Errors {
  double clock = 0, power = 0, time = 0;
};

Errors errors_of(const Json& row) {
  const Json p = predicted(row);
  const auto number = [](const Json& object, const char* key) { return object[key].get<double>(); };
  const double clock = number(row, "cycles") / number(row, "time");
  const Errors out{number(p, "cycles") / number(p, "time") / clock - 1, number(p, "power") / number(row, "power") - 1,
                   number(p, "time") / number(row, "time") - 1};
  MESSAGE(list_of(row["shape"]) << " " << row["mask"].get<std::string>()
                                << (held_out(row) ? ", held out" : ", calibration") << ": clock " << 100 * out.clock
                                << " %, power " << 100 * out.power << " %, time " << 100 * out.time << " %");
  return out;
}

TEST_CASE("loads of seconds on two cards that have been at work: clock within 3 %, power within 5 %, held out") {
  int held = 0;
  for (const Json& row : rows()) {
    CHECK(row["good"].get<bool>());
    // Runs of 20 launches, one behind the other.
    CHECK(20 * row["runs"].get<double>() * row["time"].get<double>() >= 1);
    const Errors errors = errors_of(row);
    CHECK(std::abs(errors.time) <= 0.07);
    if (!held_out(row)) continue;
    ++held;
    CHECK(std::abs(errors.clock) <= 0.03);
    CHECK(std::abs(errors.power) <= 0.05);
  }
  CHECK(held == 20);
}

TEST_CASE("two cards that have been at work hold the same clock within 2 %") {
  std::map<std::string, std::vector<double>> clocks;
  for (const Json& row : rows())
    clocks[list_of(row["shape"]) + row["mask"].get<std::string>()].push_back(row["cycles"].get<double>() /
                                                                             row["time"].get<double>());
  CHECK(clocks.size() == 12);
  for (const auto& [load, of] : clocks) {
    CAPTURE(load);
    REQUIRE(of.size() == 2);
    CHECK(std::abs(of[1] / of[0] - 1) <= 0.02);
  }
}

}  // namespace

}  // namespace test_steady
