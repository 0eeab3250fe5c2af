// Sweeps of kinds of questions that no fit and no test had had (unseen/*.jsonl): measured with the model fixed and its
// predictions committed before. The bounds are README.md's errors; a changed model may only have smaller ones.

#include <algorithm>
#include <map>

#include "tests/measured/row.hpp"

namespace test_unseen {

namespace {

using cli::Json;
using cli::pairs;

const std::string folder = NAPKIN_SOURCE_DIR "/tests/measured/unseen/";

std::vector<Json> rows_of(const std::string& file) { return measured::rows_of("unseen/" + file); }

/// Bounds for the rows within 1.5x of the best of their sweep.
struct Held {
  std::string kind, kernel;
  int rows, sweeps;
  double mean, median, worst, cycles;  ///< errors, at most
  double regret, worst_regret;  ///< times of the tiles that select had chosen, over the best measured tile, less one
};

const std::vector<Held> all = {
    {"grouped", "attention_sm90", 59, 4, 0.0305, 0.0225, 0.122, 0.036, 0.0112, 0.025},
    {"unequal", "attention_sm90", 60, 4, 0.0350, 0.0295, 0.116, 0.0467, 0.0098, 0.024},
    {"latent", "attention_sm90", 44, 3, 0.0235, 0.020, 0.068, 0.025, 0.0120, 0.036},
    {"packed", "attention_sm90", 43, 3, 0.050, 0.052, 0.107, 0.060, 0.0075, 0.014},
    // Device memory's ends made the calls of unequal lengths 0.2 points worse than they were, and few rows better.
    // Its power is predicted too high, which iterations that were too short had made up for in part.
    {"decode", "attention_sm90", 62, 4, 0.087, 0.082, 0.247, 0.085, 0.0335, 0.065},
    {"layers", "matmul_sm90", 59, 4, 0.0371, 0.0245, 0.158, 0.0325, 0, 0},
    {"few_rows", "matmul_sm90", 55, 4, 0.0855, 0.083, 0.285, 0.177, 0.092, 0.313},
};

TEST_CASE("errors of each kind, replayed with today's model") {
  double time = 0, rows = 0;
  for (const Held& held : all) {
    CAPTURE(held.kind);
    const auto run = cli::napkin({"validate", "--json", "--replay", folder + std::string(held.kind) + ".jsonl"});
    REQUIRE_MESSAGE(run.code == 0, run.err);
    const Json found = run.json(), of = found["kernels"][held.kernel]["held-out"];
    CHECK(of["rows"] == held.rows);
    CHECK(found["regret"]["sweeps"] == held.sweeps);
    CHECK(of["time_error"]["mean"].get<double>() <= held.mean);
    CHECK(of["time_error"]["median"].get<double>() <= held.median);
    CHECK(of["time_error"]["worst"].get<double>() <= held.worst);
    CHECK(of["cycles_error"]["mean"].get<double>() <= held.cycles);
    CHECK(found["regret"]["top3_worst"].get<double>() <= 0.001);
    time += held.rows * of["time_error"]["mean"].get<double>();
    rows += held.rows;
  }
  CHECK(time / rows <= 0.051);
}

TEST_CASE("what select had selected over the best measured tile, as recorded") {
  for (const Held& held : all) {
    CAPTURE(held.kind);
    std::map<std::string, std::map<std::string, double>> sweeps;  // newest row by tile
    std::map<std::string, std::string> selected;
    for (const Json& row : rows_of(std::string(held.kind) + ".jsonl")) {
      CHECK(row["split"] == "held-out");
      const std::string sweep = row["sweep"].get<std::string>(), tile = pairs(row["tile"]);
      sweeps[sweep][tile] = row["measured"]["time"].get<double>();
      if (row["selected"].get<bool>()) selected[sweep] = tile;
    }
    REQUIRE(static_cast<int>(sweeps.size()) == held.sweeps);
    double sum = 0, worst = 0;
    for (const auto& [sweep, times] : sweeps) {
      const auto faster = [](const auto& a, const auto& b) { return a.second < b.second; };
      const double over =
          times.at(selected.at(sweep)) / std::min_element(times.begin(), times.end(), faster)->second - 1;
      sum += over;
      worst = std::max(worst, over);
    }
    CHECK(sum / held.sweeps <= held.regret);
    CHECK(worst <= held.worst_regret);
  }
}

TEST_CASE("each sweep's selected tile is the one that was committed as predicted, with its time") {
  std::map<std::string, std::vector<Json>> predicted;
  int questions = 0;
  for (const Json& row : rows_of("predictions.jsonl")) {
    predicted[row["kind"].get<std::string>()].push_back(row);
    ++questions;
  }
  CHECK(questions == 26);
  for (const Held& held : all) {
    CAPTURE(held.kind);
    std::map<std::string, Json> picks;
    for (const Json& row : rows_of(std::string(held.kind) + ".jsonl")) {
      if (row["selected"].get<bool>()) picks.emplace(row["sweep"].get<std::string>(), row);
    }
    for (const auto& pick : picks) {
      const Json& row = pick.second;
      const auto& those = predicted[held.kind];
      // The run counts what the L2 reads again, which select leaves out.
      CHECK(std::any_of(those.begin(), those.end(), [&](const Json& one) {
        const double ratio = row["predicted"]["time"].get<double>() / one["predicted"]["time"].get<double>();
        return pairs(one["tile"]) == pairs(row["tile"]) && ratio > 0.999 && ratio < 1.005;
      }));
    }
  }
}

// Why products of few rows and decoding are missed: measured one after the other on one card.
TEST_CASE(
    "weights that come from device memory want stages: predictions know it of three and four, not that eight bring "
    "more") {
  std::map<std::string, std::map<int, Json>> by_shape;  // rows by contracted elements, then by stages
  for (const Json& row : rows_of("reasons.jsonl")) {
    if (row["algorithm"] == "matmul") by_shape[row["shape"]["b"].dump()].emplace(row["tile"]["stages"].get<int>(), row);
  }
  const auto measured = [&](const char* b, int stages) {
    return by_shape.at(b).at(stages)["measured"]["time"].get<double>();
  };
  const auto predicted = [&](const char* b, int stages) {
    return measured::predicted(by_shape.at(b).at(stages))["time"].get<double>();
  };
  CHECK(measured("14336", 3) / measured("14336", 8) > 1.7);
  CHECK(measured("14336", 4) / measured("14336", 8) > 1.25);
  CHECK(measured("2048", 4) / measured("2048", 8) < 1.05);
  CHECK(predicted("14336", 3) == doctest::Approx(measured("14336", 3)).epsilon(0.01));
  CHECK(predicted("14336", 4) == doctest::Approx(measured("14336", 4)).epsilon(0.03));
  CHECK(predicted("14336", 4) < 1.03 * predicted("14336", 8));
  CHECK(predicted("2048", 4) == doctest::Approx(predicted("2048", 8)).epsilon(0.01));
  // 16 KiB of B for each of 128 SMs and stage but the one that is read: Little's law has the same latency with 3 and 4.
  const double bytes = 2.0 * 14336 * 4096, stage = 128.0 * 128 * 32 * 2;
  CHECK(3 * stage / (bytes / measured("14336", 3)) == doctest::Approx(1.56e-6).epsilon(0.03));
  CHECK(4 * stage / (bytes / measured("14336", 4)) == doctest::Approx(1.56e-6).epsilon(0.03));
}

TEST_CASE("rows beyond the queries take their cycles, and less power than predictions give them") {
  std::map<int, double> cycles, clocks, predicted;
  for (const Json& row : rows_of("reasons.jsonl")) {
    if (row["algorithm"] != "attention") continue;
    const int q = row["shape"]["q"].get<int>();
    cycles[q] = row["measured"]["cycles"].get<double>();
    clocks[q] = cycles[q] / row["measured"]["time"].get<double>();
    const Json now = measured::predicted(row);
    predicted[q] = now["clock"].get<double>();
    CHECK(now["cycles"].get<double>() == doctest::Approx(cycles[q]).epsilon(0.015));
  }
  REQUIRE(cycles.size() == 3);
  CHECK(cycles[2] == doctest::Approx(cycles[64]).epsilon(0.001));
  CHECK(predicted[2] == doctest::Approx(predicted[64]).epsilon(0.001));
  CHECK(clocks[2] / clocks[64] > 1.12);
  CHECK(clocks[16] / clocks[64] > 1.09);
}

}  // namespace

}  // namespace test_unseen
