// Launches measured after the model was fixed, at sizes at which nothing had been measured. The bounds are for today's
// model; README.md also has the errors of the revision fixed then.
#include <map>
#include <string>
#include <vector>

#include "tests/measured/row.hpp"

namespace test_blind {

namespace {

using cli::Json;
using cli::pairs;

Json replayed(const std::string& file) {
  const auto run = cli::napkin({"validate", "--json", "--replay", NAPKIN_SOURCE_DIR "/tests/measured/blind/" + file});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  return run.json();
}

/// Upper bounds of errors; negative: not checked.
struct Errors {
  double time = -1, median = -1, worst = -1, cycles = -1;
};
void hold(const Json& rows, const Errors& bounds) {
  const auto at_most = [&](const char* of, const char* what, double bound) {
    CAPTURE(of);
    CAPTURE(what);
    if (bound >= 0) CHECK(rows[of][what].get<double>() <= bound);
  };
  at_most("time_error", "mean", bounds.time);
  at_most("time_error", "median", bounds.median);
  at_most("time_error", "worst", bounds.worst);
  at_most("cycles_error", "mean", bounds.cycles);
}

/// At most.
struct Over {
  int sweeps;  ///< exactly
  double mean, worst, top3;
};
void hold_regret(const Json& regret, const Over& bounds) {
  CHECK(regret["sweeps"] == bounds.sweeps);
  CHECK(regret["mean"].get<double>() <= bounds.mean);
  CHECK(regret["worst"].get<double>() <= bounds.worst);
  CHECK(regret["top3_worst"].get<double>() <= bounds.top3);
}

/// Checks attention_sm90's sweeps in that file: the number and errors of held-out rows, and the regret.
void hold_sweeps(const std::string& file, int rows, const Errors& errors, const Over& over) {
  const Json all = replayed(file), of = all["kernels"]["attention_sm90"]["held-out"];
  CHECK(of["rows"] == rows);
  hold(of, errors);
  hold_regret(all["regret"], over);
}

}  // namespace

TEST_CASE("selected tiles at 18 new sizes of attention, version 10") {
  const Json attention = replayed("picks_version_10.jsonl")["kernels"]["attention_sm90"]["held-out"];
  CHECK(attention["rows"] == 18);
  hold(attention, {.time = 0.035, .worst = 0.077, .cycles = 0.022});
}

// Version 9 took up to 6 % more cycles than version 10, which is what the model describes.
TEST_CASE("selected tiles at 24 new sizes of attention and 3 of products, version 9") {
  const Json kernels = replayed("picks_version_9.jsonl")["kernels"];
  const Json attention = kernels["attention_sm90"]["held-out"], products = kernels["matmul_sm90"]["held-out"];
  CHECK(attention["rows"] == 24);
  hold(attention, {.time = 0.024, .worst = 0.05, .cycles = 0.036});
  CHECK(products["rows"] == 3);
  hold(products, {.time = 0.045});  // rows of few launches: a card holds a higher clock until its power settles
}

TEST_CASE("six new sweeps, version 9: errors and regret") {
  hold_sweeps("sweeps_version_9.jsonl", 304, {.time = 0.037, .median = 0.032, .cycles = 0.052},
              {6, 0.009, 0.033, 0.013});
}

TEST_CASE("selected tiles at 18 more sizes of attention, version 10, on a card at work") {
  const Json attention = replayed("picks_settled.jsonl")["kernels"]["attention_sm90"]["held-out"];
  CHECK(attention["rows"] == 18);
  hold(attention, {.time = 0.024, .worst = 0.047, .cycles = 0.024});
}

TEST_CASE(
    "six more sweeps, version 10, on cards at work: errors and regret; the best tile is among the first three of "
    "each") {
  hold_sweeps("sweeps_settled.jsonl", 257, {.time = 0.033, .median = 0.026, .cycles = 0.038}, {6, 0.006, 0.017, 0});
}

TEST_CASE(
    "five sweeps of attention and three of products at sizes that no fit used: errors and regret; the best tile is "
    "among the first three of each") {
  hold_sweeps("sweeps_first_touch.jsonl", 212, {.time = 0.035, .median = 0.027, .cycles = 0.044}, {5, 0.013, 0.031, 0});
  const Json all = replayed("sweeps_products.jsonl"), products = all["kernels"]["matmul_sm90"]["held-out"];
  CHECK(products["rows"] == 135);
  hold(products, {.time = 0.033, .median = 0.026, .cycles = 0.037});
  hold_regret(all["regret"], {3, 0, 0, 0});
}

TEST_CASE("five sweeps of attention when instructions among products had been counted: errors and regret") {
  hold_sweeps("sweeps_among_products.jsonl", 253, {.time = 0.031, .median = 0.023, .cycles = 0.037},
              {5, 0.002, 0.006, 0.0011});
}

// These sweeps take only tiles with the best predictions: up to 44 tiles of each question, every one predicted within 6
// % of the best.
TEST_CASE("six sweeps of the tiles that are predicted best: errors and regret") {
  hold_sweeps("sweeps_near_best.jsonl", 229, {.time = 0.021, .median = 0.016, .cycles = 0.029},
              {6, 0.007, 0.018, 0.0101});
}

TEST_CASE("four sweeps at d of 96 and 192, which nothing had been measured at: errors and regret") {
  hold_sweeps("sweeps_head_widths.jsonl", 162, {.time = 0.031, .median = 0.024, .cycles = 0.038},
              {4, 0.001, 0.001, 0.001});
}

TEST_CASE(
    "of the picks before and after the energies were fitted anew, where they differ, the one predicted faster is, or "
    "the same within 0.5 %") {
  struct Tile {
    Json row;
    std::vector<double> times;
  };
  std::map<std::string, std::map<std::string, Tile>> problems;
  for (const Json& row : measured::rows_of("blind/picks_energies.jsonl")) {
    Tile& tile = problems[pairs(row["shape"]) + row["mask"].dump()][pairs(row["tile"])];
    tile.row = row;
    tile.times.push_back(row["measured"]["time"].get<double>());
  }
  CHECK(problems.size() == 8);
  for (const auto& [problem, tiles] : problems) {
    CAPTURE(problem);
    REQUIRE(tiles.size() == 2);
    const Tile &one = tiles.begin()->second, &other = tiles.rbegin()->second;
    const auto time = [](const Tile& tile) { return measured::predicted(tile.row)["time"].get<double>(); };
    const double a = measured::median(one.times), b = measured::median(other.times);
    CHECK((time(one) < time(other) ? a / b : b / a) <= 1.005);
  }
}

}  // namespace test_blind
