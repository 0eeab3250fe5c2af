// Launches measured when the model was fixed, at sizes that nothing had been measured at before: what it says unseen.
#include <string>

#include "tests/golden/cli.hpp"

namespace test_blind {

namespace {

using cli::Json;

Json replayed(const std::string& file) {
  const auto run = cli::napkin({"validate", "--json", "--replay", NAPKIN_SOURCE_DIR "/tests/measured/blind/" + file});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  return run.json();
}

}  // namespace

TEST_CASE("selected tiles at 24 new sizes of attention and 3 of products") {
  const Json kernels = replayed("h200.jsonl")["kernels"];
  const Json attention = kernels["attention_sm90"]["held-out"], products = kernels["matmul_sm90"]["held-out"];
  CHECK(attention["rows"] == 24);
  CHECK(attention["time_error"]["mean"].get<double>() <= 0.023);
  CHECK(attention["time_error"]["worst"].get<double>() <= 0.06);
  CHECK(attention["cycles_error"]["mean"].get<double>() <= 0.026);
  CHECK(products["rows"] == 3);
  CHECK(products["time_error"]["mean"].get<double>() <= 0.016);
}

TEST_CASE("six new sweeps: errors and regret") {
  const Json all = replayed("h200_sweeps.jsonl"), rows = all["kernels"]["attention_sm90"]["held-out"];
  CHECK(rows["rows"] == 304);
  CHECK(rows["time_error"]["mean"].get<double>() <= 0.05);
  CHECK(rows["time_error"]["median"].get<double>() <= 0.043);
  CHECK(rows["cycles_error"]["mean"].get<double>() <= 0.053);
  CHECK(all["regret"]["sweeps"] == 6);
  CHECK(all["regret"]["mean"].get<double>() <= 0.018);
  CHECK(all["regret"]["worst"].get<double>() <= 0.058);
  CHECK(all["regret"]["best_in_top3"].get<double>() >= 0.83);
}

}  // namespace test_blind
