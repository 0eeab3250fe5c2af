// attention_sm90 on inputs whose row maxima grow at every chunk, or never (inputs/*.jsonl, tests/kernel/run_speed.py
// --inputs): README.md's numbers about them.

#include <algorithm>
#include <map>

#include "tests/measured/row.hpp"

namespace test_inputs {

namespace {

using cli::Json;
using cli::pairs;

/// The rows by shape and mask, then by kind of input.
using Rows = std::map<std::string, std::map<std::string, Json>>;

Rows rows_of(const std::string& file) {
  Rows rows;
  for (const Json& row : measured::rows_of("inputs/" + file)) {
    rows[pairs(row["shape"]) + " " + row["mask"].get<std::string>()].emplace(row["inputs"].get<std::string>(), row);
  }
  return rows;
}

double number(const Json& row, const char* what) { return row[what].get<double>(); }

struct Range {
  double least, median, most;
};
/// Returns the ratios of `what` on these inputs to `what` on normal ones, over all shapes.
template <class What>
Range over_normal(const Rows& rows, const std::string& inputs, const What& what) {
  std::vector<double> all;
  for (const auto& [shape, row] : rows) all.push_back(what(row.at(inputs)) / what(row.at("normal")));
  std::sort(all.begin(), all.end());
  return {all.front(), (all[(all.size() - 1) / 2] + all[all.size() / 2]) / 2, all.back()};
}

const auto time = [](const Json& row) { return number(row, "time"); };
const auto cycles = [](const Json& row) { return number(row, "cycles"); };
const auto cudnn = [](const Json& row) { return number(row["peers"], "cudnn"); };

void hold(const Range& range, double least, double median, double most) {
  CHECK(range.least >= least);
  CHECK(range.median == doctest::Approx(median).epsilon(0.01));
  CHECK(range.most <= most);
}

TEST_CASE("results are right on every kind of inputs, at s of 512 and 4096") {
  int compared = 0;
  for (const char* file : {"selected.jsonl", "always.jsonl"}) {
    for (const auto& shape : rows_of(file)) {
      for (const auto& inputs : shape.second) {
        const Json& row = inputs.second;
        CHECK(row["spill_bytes"] == 0);
        if (!row.contains("good")) continue;
        ++compared;
        CHECK(row["good"].get<bool>());
        CHECK(number(row, "max_error") <= 2 * number(row, "reference_error") + 1e-5);
        CHECK(row["unwritten"] == 0);
      }
    }
  }
  CHECK(compared == 60 + 18);
}

TEST_CASE("scores that outgrow the kept maximum at every chunk cost the picks up to 2.6 times the time, cuDNN none") {
  const Rows rows = rows_of("selected.jsonl");
  REQUIRE(rows.size() == 36);
  hold(over_normal(rows, "growing", time), 1.43, 2.161, 2.56);
  hold(over_normal(rows, "growing", cycles), 1.54, 2.567, 3.25);
  hold(over_normal(rows, "growing", cudnn), 0.90, 0.938, 1.12);
  hold(over_normal(rows, "spike", time), 1.43, 1.777, 2.15);
  hold(over_normal(rows, "spike", cudnn), 0.97, 1.012, 1.14);
  // With shrinking scores the chunk visited first has the maximum, and no later one rescales.
  hold(over_normal(rows, "shrinking", cycles), 0.99, 1.0, 1.01);
}

// The rows by the power of two by which each key's exponential grows.
TEST_CASE("scores that grow slowly cost less: nothing at 2^0.001 a key, 7 % at 2^0.003, a quarter at 2^0.01") {
  const Rows rows = rows_of("growth.jsonl");
  REQUIRE(rows.size() == 6);
  hold(over_normal(rows, "growing:0.001", time), 0.98, 1.0, 1.01);
  hold(over_normal(rows, "growing:0.003", time), 1.05, 1.07, 1.12);
  hold(over_normal(rows, "growing:0.01", time), 1.19, 1.25, 1.36);
  hold(over_normal(rows, "growing:0.03", time), 1.39, 1.51, 1.61);
  hold(over_normal(rows, "growing:0.06", time), 1.59, 1.75, 1.86);
  for (const auto& shape : rows) {
    for (const auto& inputs : shape.second) CHECK(inputs.second["good"].get<bool>());
  }
}

TEST_CASE("zeros take as many cycles at more clock and less power") {
  const Rows rows = rows_of("selected.jsonl");
  hold(over_normal(rows, "zeros", time), 0.77, 0.855, 0.98);
  hold(over_normal(rows, "zeros", cycles), 0.99, 1.005, 1.07);
  hold(over_normal(rows, "zeros", cudnn), 0.81, 0.868, 1.01);
}

TEST_CASE("with rescale always the same tiles take as many cycles on all inputs, and more on normal ones") {
  const Rows always = rows_of("always.jsonl"), rarely = rows_of("selected.jsonl");
  REQUIRE(always.size() == 18);
  hold(over_normal(always, "growing", cycles), 0.99, 1.0, 1.01);
  hold(over_normal(always, "spike", cycles), 0.98, 1.0, 1.01);
  std::vector<double> costs;
  for (const auto& [shape, row] : always) {
    CHECK(row.at("normal")["tile"]["rescale"] == "always");
    CHECK(rarely.at(shape).at("normal")["tile"]["rescale"] == "rarely");
    costs.push_back(number(row.at("normal"), "time") / number(rarely.at(shape).at("normal"), "time"));
  }
  std::sort(costs.begin(), costs.end());
  MESSAGE("rescale always over rarely, normal inputs: " << costs.front() << " to " << costs.back() << ", median "
                                                        << (costs[8] + costs[9]) / 2);
  CHECK(costs.front() > 1);
  CHECK(costs.back() < 1.25);
}

}  // namespace

}  // namespace test_inputs
