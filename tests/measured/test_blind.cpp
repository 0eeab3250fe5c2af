// Launches measured when the model was fixed, at sizes that nothing had been measured at before: what it says unseen.
// Bounds are today's model's: README has what the revision that was fixed then said of version 10, too.
#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/golden/cli.hpp"

namespace test_blind {

namespace {

using cli::Json;

Json replayed(const std::string& file) {
  const auto run = cli::napkin({"validate", "--json", "--replay", NAPKIN_SOURCE_DIR "/tests/measured/blind/" + file});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  return run.json();
}

/// The CLI's "k=v,..." of a shape or tile.
std::string pairs(const Json& of) {
  std::string out;
  for (const std::string& key : cli::keys_of(of)) {
    const Json& value = of[key];
    out += (out.empty() ? "" : ",") + key + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  return out;
}

double predicted_time(const std::string& shape, const std::string& mask, const std::string& tile) {
  std::vector<std::string> ask = {"query", "attention", "--gpu", "h200-sxm", "--kernel", "attention_sm90", "--json", "--shape", shape, "--tile", tile};
  if (mask == "causal") ask.emplace_back("--causal");
  const auto run = cli::napkin(ask);
  REQUIRE_MESSAGE(run.code == 0, run.err);
  return run.json()["predicted"]["time"].get<double>();
}

double median(std::vector<double> of) {
  std::sort(of.begin(), of.end());
  return of[of.size() / 2];
}

}  // namespace

TEST_CASE("selected tiles at 18 new sizes of attention, version 10") {
  const Json attention = replayed("h200_steps.jsonl")["kernels"]["attention_sm90"]["held-out"];
  CHECK(attention["rows"] == 18);
  CHECK(attention["time_error"]["mean"].get<double>() <= 0.041);
  CHECK(attention["time_error"]["worst"].get<double>() <= 0.076);
  CHECK(attention["cycles_error"]["mean"].get<double>() <= 0.022);
}

// Version 9 took up to 6 % more cycles than version 10, which is what the model describes.
TEST_CASE("selected tiles at 24 new sizes of attention and 3 of products, version 9") {
  const Json kernels = replayed("h200.jsonl")["kernels"];
  const Json attention = kernels["attention_sm90"]["held-out"], products = kernels["matmul_sm90"]["held-out"];
  CHECK(attention["rows"] == 24);
  CHECK(attention["time_error"]["mean"].get<double>() <= 0.030);
  CHECK(attention["time_error"]["worst"].get<double>() <= 0.069);
  CHECK(attention["cycles_error"]["mean"].get<double>() <= 0.036);
  CHECK(products["rows"] == 3);
  CHECK(products["time_error"]["mean"].get<double>() <= 0.038);  // of a few launches: a card that has not settled holds 2 to 4 % more clock
}

TEST_CASE("six new sweeps, version 9: errors and regret") {
  const Json all = replayed("h200_sweeps.jsonl"), rows = all["kernels"]["attention_sm90"]["held-out"];
  CHECK(rows["rows"] == 304);
  CHECK(rows["time_error"]["mean"].get<double>() <= 0.034);
  CHECK(rows["time_error"]["median"].get<double>() <= 0.031);
  CHECK(rows["cycles_error"]["mean"].get<double>() <= 0.047);
  CHECK(all["regret"]["sweeps"] == 6);
  CHECK(all["regret"]["mean"].get<double>() <= 0.008);
  CHECK(all["regret"]["worst"].get<double>() <= 0.033);
  CHECK(all["regret"]["top3_worst"].get<double>() <= 0.013);
}

TEST_CASE("selected tiles at 18 more sizes of attention, version 10, on a card at work") {
  const Json attention = replayed("h200_settled.jsonl")["kernels"]["attention_sm90"]["held-out"];
  CHECK(attention["rows"] == 18);
  CHECK(attention["time_error"]["mean"].get<double>() <= 0.03);
  CHECK(attention["time_error"]["worst"].get<double>() <= 0.062);
  CHECK(attention["cycles_error"]["mean"].get<double>() <= 0.024);
}

TEST_CASE("six more sweeps, version 10, on cards at work: errors and regret; the best tile is among the first three of each") {
  const Json all = replayed("h200_settled_sweeps.jsonl"), rows = all["kernels"]["attention_sm90"]["held-out"];
  CHECK(rows["rows"] == 257);
  CHECK(rows["time_error"]["mean"].get<double>() <= 0.031);
  CHECK(rows["time_error"]["median"].get<double>() <= 0.026);
  CHECK(rows["cycles_error"]["mean"].get<double>() <= 0.037);
  CHECK(all["regret"]["sweeps"] == 6);
  CHECK(all["regret"]["mean"].get<double>() <= 0.009);
  CHECK(all["regret"]["worst"].get<double>() <= 0.033);
  CHECK(all["regret"]["top3_worst"].get<double>() == 0);
}

TEST_CASE("five sweeps of attention and three of products at sizes that no fit used: errors and regret; the best tile is among the first three of each") {
  const Json attention = replayed("h200_first_touch_sweeps.jsonl"), rows = attention["kernels"]["attention_sm90"]["held-out"];
  CHECK(rows["time_error"]["mean"].get<double>() <= 0.033);
  CHECK(rows["time_error"]["median"].get<double>() <= 0.024);
  CHECK(rows["cycles_error"]["mean"].get<double>() <= 0.041);
  CHECK(attention["regret"]["sweeps"] == 5);
  CHECK(attention["regret"]["mean"].get<double>() <= 0.011);
  CHECK(attention["regret"]["worst"].get<double>() <= 0.031);
  CHECK(attention["regret"]["top3_worst"].get<double>() == 0);
  const Json all = replayed("h200_first_touch_products.jsonl"), products = all["kernels"]["matmul_sm90"]["held-out"];
  CHECK(products["time_error"]["mean"].get<double>() <= 0.03);
  CHECK(products["cycles_error"]["mean"].get<double>() <= 0.045);
  CHECK(all["regret"]["sweeps"] == 3);
  CHECK(all["regret"]["worst"].get<double>() == 0);
}

TEST_CASE("of the picks before and after the energies were fitted anew, where they differ, the one predicted faster is, or the same within 0.5 %") {
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::vector<double>>> times;
  std::istringstream lines(cli::contents(NAPKIN_SOURCE_DIR "/tests/measured/blind/h200_energies.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const Json row = cli::parse(line);
    times[{pairs(row["shape"]), row["mask"].get<std::string>()}][pairs(row["tile"])].push_back(row["measured"]["time"].get<double>());
  }
  CHECK(times.size() == 8);
  for (const auto& [problem, tiles] : times) {
    CAPTURE(problem.first);
    REQUIRE(tiles.size() == 2);
    const auto& [one, one_times] = *tiles.begin();
    const auto& [other, other_times] = *tiles.rbegin();
    const bool first = predicted_time(problem.first, problem.second, one) < predicted_time(problem.first, problem.second, other);
    const double a = median(one_times), b = median(other_times);
    CHECK((first ? a / b : b / a) <= 1.005);
  }
}

}  // namespace test_blind
