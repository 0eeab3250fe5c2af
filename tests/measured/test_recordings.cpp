// Every recording beside this file, replayed with today's model, holds the error bounds that are published
// (bounds.json).

#include <algorithm>
#include <cstdio>

#include "tests/golden/cli.hpp"

namespace test_recordings {

namespace {

using cli::Json;

const std::string folder = NAPKIN_SOURCE_DIR "/tests/measured";

std::vector<std::string> recordings() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".jsonl") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Errors and regret stay at or below their bound; what should be large stays at or above it.
void hold(const Json& bound, const Json& found, const std::string& name) {
  CAPTURE(name);
  if (bound.is_object()) {
    REQUIRE(found.is_object());
    for (const std::string& key : cli::keys_of(bound)) {
      REQUIRE_MESSAGE(found.contains(key), name << " has no " << key);
      hold(bound[key], found[key], name + "." + key);
    }
    return;
  }
  REQUIRE(found.is_number());
  const std::string last = name.substr(name.rfind('.') + 1);
  const bool more_is_better = last == "rows" || last == "sweeps" || last == "spearman" || last == "best_in_top3";
  if (more_is_better) {
    CHECK_MESSAGE(found.get<double>() >= bound.get<double>(), name << ": " << found.dump() << " < " << bound.dump());
  } else {
    CHECK_MESSAGE(found.get<double>() <= bound.get<double>(), name << ": " << found.dump() << " > " << bound.dump());
  }
}

TEST_CASE("recorded rows hold the published bounds") {
  const std::vector<std::string> files = recordings();
  const Json bounds = cli::parse(cli::contents(folder + "/bounds.json"));
  if (files.empty()) {
    CHECK_MESSAGE(bounds.empty(), "bounds are published, and nothing recorded stands behind them");
    std::printf("SKIP: nothing is recorded yet: no *.jsonl in tests/measured\n");
    return;
  }
  std::vector<std::string> words{"validate", "--json", "--replay"};
  words.insert(words.end(), files.begin(), files.end());
  const auto run = cli::napkin(words);
  REQUIRE_MESSAGE(run.code == 0, run.err);
  hold(bounds, run.json(), "replay");
}

TEST_CASE("attention_sm80's recording holds what README says of it") {
  const auto run = cli::napkin({"validate", "--json", "--replay", folder + "/sweeps_sm80/attention_sm80.jsonl"});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const Json found = run.json();
  const Json held_out = {{"rows", 144},
                         {"time_error", {{"mean", 0.066}, {"median", 0.052}, {"worst", 0.34}}},
                         {"cycles_error", {{"mean", 0.068}}},
                         {"spearman", 0.94}};
  const Json calibration = {{"rows", 47},
                            {"time_error", {{"mean", 0.038}, {"worst", 0.09}}},
                            {"cycles_error", {{"mean", 0.029}}},
                            {"spearman", 0.98}};
  hold({{"calibration", calibration}, {"held-out", held_out}}, found["kernels"]["attention_sm80"],
       "replay.attention_sm80");
  hold({{"sweeps", 6}, {"mean", 0.008}, {"worst", 0.046}, {"best_in_top3", 0.83}}, found["regret"], "replay.regret");
}

// Recorded with version 8, which takes more cycles than predicted, under a mask up to 12 %.
TEST_CASE("packed batches: bytes at the counter's, times by the blocks of every sequence") {
  const auto run = cli::napkin({"validate", "--json", "--replay", folder + "/packed/batches.jsonl"});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const Json held_out = {
      {"rows", 10},
      {"time_error", {{"mean", 0.08}, {"median", 0.067}}},
      {"transfer_error", {{"l2, load", {{"worst", 0.06}}}, {"shared, delivered", {{"worst", 0.002}}}}}};
  hold({{"held-out", held_out}}, run.json()["kernels"]["attention_sm90"], "replay.packed");
}

TEST_CASE("a bound that does not hold is seen") {
  const Json found = {{"regret", {{"mean", 0.02}, {"best_in_top3", 0.9}}}};
  hold({{"regret", {{"mean", 0.02}, {"best_in_top3", 0.9}}}}, found, "replay");
  CHECK(found["regret"]["mean"].get<double>() > 0.01);
}

}  // namespace

}  // namespace test_recordings
