// The summary of recorded rows, compared with numbers worked out by hand: errors, rank correlation, regret, and newer
// rows that replace older ones.

#include <doctest/doctest.h>

#include "apps/library/judge/validation.hpp"

namespace test_validate_summary {

using namespace napkin;
using namespace napkin::internal;

namespace {

/// Returns a row of attention, by default of s = 2048; rows differ in x alone. Measured and predicted times in
/// microseconds.
ValidationRow row_of(std::int64_t x, double measured, double predicted, const char* sweep = "sweep",
                     std::int64_t s = 2048) {
  ValidationRow row;
  row.head.algorithm = "attention";
  row.head.gpu = "h200-sxm";
  row.head.kernel = "attention_sm90";
  row.head.dtype = "bf16";
  row.head.shape = {{"b", 1}, {"h", 16}, {"g", 1}, {"q", s}, {"x", s}, {"d", 128}, {"dv", 128}};
  row.head.tile = {{"x", x, ""}, {"order", 0, "grid"}};
  row.predicted.emplace();
  row.predicted->time = predicted * 1e-6;
  row.predicted->cycles = predicted * 1e3;
  row.predicted->clock = 1e9;
  row.split = split_of(row.head);
  if (sweep != nullptr) row.sweep = sweep;
  row.measured.time = measured * 1e-6;
  row.from.date = "2026-11-21T10:00:00Z";
  return row;
}

std::vector<ScoredRow> scored(const std::vector<ValidationRow>& rows) {
  std::vector<ScoredRow> out;
  for (const ValidationRow& row : rows) out.push_back(as_recorded(row));
  return out;
}

SplitSummary only_split(const ValidationSummary& summary) {
  REQUIRE(summary.kernels.size() == 1);
  REQUIRE(summary.kernels.begin()->second.size() == 1);
  return summary.kernels.begin()->second.begin()->second;
}

}  // namespace

TEST_CASE("the split is fixed beforehand") {
  Head head = row_of(64, 1, 1).head;
  CHECK(split_of(head) == "held-out");
  const auto at = [&](std::int64_t q, std::int64_t x, std::int64_t d, std::int64_t dv) {
    head.shape = {{"b", 4}, {"h", 16}, {"g", 1}, {"q", q}, {"x", x}, {"d", d}, {"dv", dv}};
    return split_of(head);
  };
  CHECK(at(4096, 4096, 64, 64) == "calibration");
  CHECK(at(4096, 4096, 128, 128) == "calibration");
  CHECK(at(4096, 4096, 256, 256) == "held-out");
  CHECK(at(4096, 4096, 192, 128) == "held-out");
  CHECK(at(4096, 4096, 128, 64) == "held-out");
  CHECK(at(4096, 8192, 128, 128) == "held-out");
  CHECK(at(4095, 4096, 128, 128) == "held-out");
  head.mask.kind = Mask::Kind::causal;
  CHECK(at(4096, 4096, 128, 128) == "held-out");
  Head product;
  product.algorithm = "matmul";
  product.shape = {{"a", 4096}, {"b", 4096}, {"c", 4096}};
  CHECK(split_of(product) == "calibration");
  product.shape[1].second = 2048;
  CHECK(split_of(product) == "held-out");
  product.algorithm = "mlp";
  CHECK(split_of(product) == "held-out");
}

TEST_CASE("errors cover the rows within 1.5x of the best, Spearman all") {
  // Errors 10 %, 20 %, 50 %; the last takes twice the best time and counts for the ranks alone.
  const std::vector<ValidationRow> rows{row_of(64, 100, 110), row_of(80, 125, 100), row_of(96, 150, 75),
                                        row_of(112, 200, 600)};
  const SplitSummary split = only_split(summarise(scored(rows)));
  CHECK(split.rows == 4);
  REQUIRE(split.time);
  CHECK(split.time->rows == 3);
  CHECK(split.time->mean == doctest::Approx((0.1 + 0.2 + 0.5) / 3));
  CHECK(split.time->median == doctest::Approx(0.2));
  CHECK(split.time->worst == doctest::Approx(0.5));
  // Measured ranks 1 2 3 4, predicted 3 2 1 4: 1 - 6 (4 + 0 + 4 + 0) / (4 * 15) = 0.2.
  REQUIRE(split.spearman);
  CHECK(*split.spearman == doctest::Approx(0.2));
  CHECK_FALSE(split.cycles);
  CHECK_FALSE(split.clock);
  CHECK_FALSE(split.power);
}

TEST_CASE("all rows where there is no sweep; the median of an even number; cycles, clock and power") {
  std::vector<ValidationRow> rows{row_of(64, 100, 110, nullptr), row_of(80, 200, 220, nullptr),
                                  row_of(96, 400, 480, nullptr), row_of(112, 800, 1200, nullptr)};
  rows[0].measured.cycles = 100e3;  // predicted 110e3
  rows[1].measured.clock = 0.8e9;   // predicted 1e9
  rows[2].measured.power = 500;
  rows[2].predicted->power = 600;
  rows[3].predicted->power = 600;
  const SplitSummary split = only_split(summarise(scored(rows)));
  CHECK(split.time->rows == 4);
  CHECK(split.time->mean == doctest::Approx((0.1 + 0.1 + 0.2 + 0.5) / 4));
  CHECK(split.time->median == doctest::Approx(0.15));
  CHECK(split.cycles->rows == 1);
  CHECK(split.cycles->worst == doctest::Approx(0.1));
  CHECK(split.clock->worst == doctest::Approx(0.25));
  CHECK(split.power->rows == 1);
  CHECK(split.power->worst == doctest::Approx(0.2));
  CHECK(*split.spearman == doctest::Approx(1));
}

TEST_CASE("the best is that of the question, not of all") {
  const std::vector<ValidationRow> rows{row_of(64, 100, 110), row_of(64, 1000, 1100, "other", 8192),
                                        row_of(80, 1600, 3200, "other", 8192)};
  const SplitSummary split = only_split(summarise(scored(rows)));
  CHECK(split.rows == 3);
  CHECK(split.time->rows == 2);
  CHECK(split.time->worst == doctest::Approx(0.1));
}

TEST_CASE("Spearman with ties, constants and too few") {
  CHECK_FALSE(spearman({}));
  CHECK_FALSE(spearman({{1, 1}}));
  CHECK_FALSE(spearman({{1, 1}, {1, 2}}));
  CHECK(*spearman({{1, 5}, {2, 4}, {3, 3}}) == doctest::Approx(-1));
  // Ranks 1.5 1.5 3 against 1 2 3: 1.5 / sqrt(1.5 * 2).
  CHECK(*spearman({{1, 1}, {1, 2}, {2, 3}}) == doctest::Approx(0.8660254));
}

TEST_CASE("regret: the best predicted row over the best measured") {
  // Predicted best: 80, measured 120 against 100; the best is fourth by prediction.
  std::vector<ValidationRow> rows{row_of(64, 100, 140), row_of(80, 120, 100), row_of(96, 110, 110),
                                  row_of(112, 150, 120)};
  ValidationSummary summary = summarise(scored(rows));
  CHECK(summary.regret.sweeps == 1);
  CHECK(*summary.regret.mean == doctest::Approx(0.2));
  CHECK(*summary.regret.worst == doctest::Approx(0.2));
  CHECK(*summary.regret.top3_worst == doctest::Approx(0.1));
  CHECK(*summary.regret.best_in_top3 == doctest::Approx(0));

  // A second sweep whose pick is the best one.
  for (const auto& [x, measured, predicted] : {std::tuple{64, 1000.0, 900.0}, {80, 1300.0, 950.0}}) {
    rows.push_back(row_of(x, measured, predicted, "second", 8192));
  }
  summary = summarise(scored(rows));
  CHECK(summary.regret.sweeps == 2);
  CHECK(*summary.regret.mean == doctest::Approx(0.1));
  CHECK(*summary.regret.worst == doctest::Approx(0.2));
  CHECK(*summary.regret.top3_mean == doctest::Approx(0.05));
  CHECK(*summary.regret.top3_worst == doctest::Approx(0.1));
  CHECK(*summary.regret.best_in_top3 == doctest::Approx(0.5));
}

TEST_CASE("regret: equal predictions by preference, held-out sweeps only, none where nothing was swept") {
  const std::vector<ValidationRow> rows{row_of(64, 130, 100), row_of(80, 100, 100)};
  std::vector<ScoredRow> both = scored(rows);
  both[0].preference = {1};
  both[1].preference = {0};
  CHECK(regret_of(both).regret == doctest::Approx(0));
  std::swap(both[0].preference, both[1].preference);
  CHECK(regret_of(both).regret == doctest::Approx(0.3));

  const std::vector<ValidationRow> calibration{row_of(64, 130, 100, "sweep", 4096),
                                               row_of(80, 100, 110, "sweep", 4096)};
  const ValidationSummary summary = summarise(scored(calibration));
  CHECK(summary.kernels.at("attention_sm90").count("calibration") == 1);
  CHECK(summary.regret.sweeps == 0);
  CHECK_FALSE(summary.regret.mean);
  CHECK(summarise(scored({row_of(64, 130, 100, nullptr)})).regret.sweeps == 0);
}

TEST_CASE("a newer row of the same key supersedes an older one, wherever it stands") {
  ValidationRow old = row_of(64, 100, 200), fresh = row_of(64, 160, 200);
  fresh.from.date = "2026-11-22T10:00:00Z";
  for (const auto& rows : {std::vector<ValidationRow>{old, fresh}, std::vector<ValidationRow>{fresh, old}}) {
    const SplitSummary split = only_split(summarise(scored(rows)));
    CHECK(split.rows == 1);
    CHECK(split.time->worst == doctest::Approx(0.25));
  }
  // The later of two rows of the same second counts, so that a sweep's last pass replaces its first.
  ValidationRow again = row_of(64, 400, 200);
  CHECK(only_split(summarise(scored({old, again}))).time->worst == doctest::Approx(0.5));
  // Another tile, mask, type, kernel or GPU is another key.
  ValidationRow other = old;
  other.head.mask.kind = Mask::Kind::causal;
  CHECK(row_key(other.head) != row_key(old.head));
  other = old;
  other.head.tile[1].word = "persistent";
  CHECK(row_key(other.head) != row_key(old.head));
  CHECK(question_key(other.head) == question_key(old.head));
}

TEST_CASE("regret: the latest sweep of a question, as its rows stand now") {
  // The older sweep's tile was the best that day; it does not compete with the later sweep.
  std::vector<ValidationRow> rows{row_of(48, 50, 1000, "older"), row_of(64, 110, 100, "newer"),
                                  row_of(80, 100, 120, "newer")};
  for (std::size_t i : {1U, 2U}) rows[i].from.date = "2026-11-22T10:00:00Z";
  rows.push_back(row_of(80, 105, 120, "newer"));  // measured again at the end
  rows.back().from.date = "2026-11-22T11:00:00Z";
  const RegretSummary regret = summarise(scored(rows)).regret;
  CHECK(regret.sweeps == 1);
  CHECK(*regret.mean == doctest::Approx(110.0 / 105 - 1));
}

TEST_CASE("a wrong result is no measurement") {
  std::vector<ValidationRow> rows{row_of(64, 100, 110), row_of(80, 10, 110)};
  for (ValidationRow& row : rows) row.measured.max_error = row.measured.reference_error = 0.01;
  rows[1].measured.max_error = 0.021;
  CHECK(only_split(summarise(scored(rows))).rows == 1);
  CHECK(*summarise(scored(rows)).regret.mean == doctest::Approx(0));
  rows[1].measured.max_error = 0.02;
  CHECK(only_split(summarise(scored(rows))).rows == 2);
  rows[1].measured.max_error.reset();
  CHECK(only_split(summarise(scored(rows))).rows == 1);
}

TEST_CASE("transfers against the counters, by level") {
  ValidationRow row = row_of(64, 100, 110);
  row.levels = {{"l2", 1, 1000, 500, 1500, 1000, 0, 0, 0, 0, {}, {}, {}, {}, {}},
                {"shared", 1, 4000, 500, 4500, 4100, 0, 0, 0, 0, {}, {}, {}, {}, {}}};
  row.measured.l2_to_sm_bytes = 4000;
  row.measured.dram_read_bytes = 1250;
  const SplitSummary split = only_split(summarise(scored({row})));
  REQUIRE(split.transfer.size() == 2);
  CHECK(split.transfer.at("shared, delivered").worst == doctest::Approx(0.025));
  CHECK(split.transfer.at("l2, load").worst == doctest::Approx(0.2));
}

}  // namespace test_validate_summary
