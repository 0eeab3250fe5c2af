// Problems of a few blocks, each selected tile of two kernels measured: the kernel that select answers is the faster
// one.
#include <algorithm>
#include <map>
#include <sstream>
#include <string>

#include "tests/golden/cli.hpp"

namespace test_small {

namespace {

using cli::Json;

const std::string file = NAPKIN_SOURCE_DIR "/tests/measured/small/few_blocks.jsonl";

std::string shape_of(const Json& row) {
  std::string text;
  for (const std::string& axis : cli::keys_of(row["shape"]))
    text += (text.empty() ? "" : ",") + axis + "=" + row["shape"][axis].dump();
  return text;
}

/// Measured times by shape and kernel.
std::map<std::string, std::map<std::string, double>> measured() {
  std::map<std::string, std::map<std::string, double>> out;
  std::istringstream lines(cli::contents(file));
  for (std::string line; std::getline(lines, line);) {
    const Json row = cli::parse(line);
    out[shape_of(row)][row["kernel"].get<std::string>()] = row["measured"]["time"].get<double>();
  }
  return out;
}

TEST_CASE("of problems of a few blocks the faster kernel is selected") {
  int compared = 0;
  for (const auto& [shape, times] : measured()) {
    if (times.size() < 2) continue;
    CAPTURE(shape);
    const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
    const std::string fastest = std::min_element(times.begin(), times.end(), less)->first;
    const auto run = cli::napkin({"select", "attention", "--gpu", "h200-sxm", "--json", "--shape", shape});
    REQUIRE_MESSAGE(run.code == 0, run.err);
    CHECK(run.json()["kernel"] == fastest);
    ++compared;
  }
  CHECK(compared >= 11);
}

TEST_CASE("times of problems of a few blocks are predicted") {
  const auto run = cli::napkin({"validate", "--json", "--replay", file});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const Json time = run.json()["kernels"]["attention_sm90"]["held-out"]["time_error"];
  CHECK(time["mean"].get<double>() <= 0.065);
  CHECK(time["worst"].get<double>() <= 0.2);
}

}  // namespace

}  // namespace test_small
