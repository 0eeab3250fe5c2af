// napkin.torch in turns with others on H200s (in_turns/*.jsonl): results are right, ratios are those of
// docs/performance.md, and the times of bursts and of sustained load are near the bundled kernels' predictions.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/measured/row.hpp"

namespace test_in_turns {

namespace {

using cli::Json;

double ratio(const Json& row, const char* whose, const char* load) {
  return row[whose][load].get<double>() / row["napkin"][load].get<double>();
}

std::vector<Json> rows_of_kind(const std::string& file, const std::string& kind) {
  std::vector<Json> out = measured::rows_of("in_turns/" + file);
  std::erase_if(out, [&](const Json& row) { return row["kind"] != kind; });
  return out;
}

double predicted(const Json& row, const std::string& load) {
  std::vector<std::string> ask = cli::words_of("select attention --gpu h200-sxm --json --bundled --load " + load +
                                               " --shape " + cli::pairs(row["shape"]));
  if (!row["window"].is_null())
    ask.insert(ask.end(), {"--window", std::to_string(row["window"].get<int>()) + ",0"});
  else if (row["causal"].get<bool>())
    ask.emplace_back("--causal");
  return cli::asked(ask)["predicted"]["time"].get<double>();
}

}  // namespace

TEST_CASE("in turns: results are right, by float64 and by cuDNN's gradients") {
  for (const char* file : {"beside.jsonl", "beside_before.jsonl"}) {
    for (const Json& row : measured::rows_of("in_turns/" + std::string(file))) {
      CAPTURE(row["shape"].dump());
      CHECK(row["napkin"]["error"].get<double>() <= 0.005);
    }
  }
}

TEST_CASE("in turns: forward is ahead of FlashAttention-4, cuDNN and flash at every question") {
  const std::vector<Json> rows = rows_of_kind("beside.jsonl", "forward");
  CHECK(rows.size() == 14);
  for (const Json& row : rows) {
    CAPTURE(row["shape"].dump());
    for (const char* load : {"burst", "sustained"}) {
      CHECK(ratio(row, "flash4", load) >= 1.008);
      if (row.contains("cudnn")) CHECK(ratio(row, "cudnn", load) >= 1.11);
      if (row.contains("flash")) CHECK(ratio(row, "flash", load) >= 1.79);
    }
  }
}

TEST_CASE(
    "in turns: backward is ahead of cuDNN, level with FlashAttention-4, ahead of it where heads are grouped at d = "
    "128") {
  const std::vector<Json> rows = measured::rows_of("in_turns/gradients.jsonl");
  CHECK(rows.size() == 10);
  for (const Json& row : rows) {
    CAPTURE(row["shape"].dump());
    CAPTURE(row["causal"].dump());
    const double burst = ratio(row, "flash4", "burst"), sustained = ratio(row, "flash4", "sustained");
    const bool grouped = row["shape"]["g"] > 1, narrow = row["shape"]["d"] == 96;
    CHECK(sustained >= (narrow ? 0.92 : grouped ? 1.03 : row["shape"]["d"] == 64 ? 1.005 : 0.968));
    CHECK(burst >= (narrow ? 0.93 : grouped ? 1.07 : row["shape"]["d"] == 64 ? 1.03 : 0.98));
  }
  for (const Json& row : measured::rows_of("in_turns/gradients_cudnn.jsonl")) {
    CAPTURE(row["shape"].dump());
    CHECK(ratio(row, "cudnn", "sustained") >= 1.11);
    CHECK(row["napkin"]["error"].get<double>() <= 0.005);
  }
}

TEST_CASE("in turns: heads beyond 256 take a third of the time of PyTorch's efficient kernel, as predicted") {
  double sum = 0;
  const std::vector<Json> rows = measured::rows_of("in_turns/beyond_256.jsonl");
  CHECK(rows.size() == 6);
  for (const Json& row : rows) {
    CAPTURE(row["shape"].dump());
    CHECK(row["napkin"]["error"].get<double>() <= 0.005);
    for (const char* load : {"burst", "sustained"}) CHECK(ratio(row, "efficient", load) >= 2.78);
    const double off = predicted(row, "sustained") / row["napkin"]["sustained"].get<double>() - 1;
    MESSAGE(off);
    sum += std::fabs(off) / static_cast<double>(rows.size());
  }
  CHECK(sum <= 0.06);
}

TEST_CASE("in turns: backward at d = 96 and 256 is ahead of cuDNN") {
  const std::vector<Json> rows = measured::rows_of("in_turns/wide.jsonl");
  CHECK(rows.size() == 4);
  for (const Json& row : rows) {
    CAPTURE(row["shape"].dump());
    const double least = row["shape"]["d"] == 256 ? 1.15 : row["shape"]["g"] == 8 ? 1.05 : 1.19;
    CHECK(ratio(row, "cudnn", "sustained") >= least);
    CHECK(row["napkin"]["error"].get<double>() <= 0.005);
  }
}

TEST_CASE("in turns: times of forward calls and of decoding, predicted by the product's profile") {
  for (const auto& [kind, load, most] : std::vector<std::tuple<std::string, std::string, double>>{
           {"forward", "sustained", 0.025}, {"forward", "burst", 0.025}, {"decode", "sustained", 0.05}}) {
    double sum = 0;
    const std::vector<Json> rows = rows_of_kind("beside.jsonl", kind);
    for (const Json& row : rows) {
      const double off = predicted(row, load) / row["napkin"][load].get<double>() - 1;
      INFO(row["shape"].dump() << " " << off);
      CHECK(std::fabs(off) <= 0.07);
      sum += std::fabs(off) / static_cast<double>(rows.size());
    }
    MESSAGE(kind << " " << load << ": " << 100 * sum << " %");
    CHECK(sum <= most);
  }
}

TEST_CASE("in turns: a step whose keys grow costs the host a third of PyTorch's") {
  const std::vector<Json> rows = measured::rows_of("in_turns/steps.jsonl"),
                          rows_before = measured::rows_of("in_turns/steps_before.jsonl");
  CHECK(rows.size() == 2);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Json &before = rows_before.at(i), &after = rows[i];
    CHECK(after["napkin.attention"]["median"].get<double>() <= 37);
    CHECK(after["napkin.kvcache"]["median"].get<double>() <= 51);
    CHECK(before["napkin.attention"]["median"].get<double>() > 5 * after["napkin.attention"]["median"].get<double>());
    CHECK(after["sdpa"]["median"].get<double>() > 3 * after["napkin.attention"]["median"].get<double>());
  }
}

}  // namespace test_in_turns
