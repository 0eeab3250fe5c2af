// One tile of attention_sm90 in the three orders of blocks, short sequences with and without a mask: what lies between two
// tiles of a node.
#include <map>
#include <sstream>
#include <string>

#include "tests/golden/cli.hpp"

namespace test_orders {

namespace {

using cli::Json;

const std::string file = NAPKIN_SOURCE_DIR "/tests/measured/orders/h200.jsonl";
constexpr double tiles = 16;  // of the busiest SM: 16 x 16 heads of 8 tiles on 132 SMs

/// Cycles by keys a chunk and order, those without a mask: measured, and predicted anew.
struct Cycles {
  double measured = 0, predicted = 0;
};
std::map<int, std::map<std::string, Cycles>> unmasked() {
  std::map<int, std::map<std::string, Cycles>> out;
  std::istringstream lines(cli::contents(file));
  for (std::string line; std::getline(lines, line);) {
    const Json row = cli::parse(line);
    if (row["mask"] != "none") continue;
    std::string shape, tile;
    for (const std::string& axis : cli::keys_of(row["shape"])) shape += (shape.empty() ? "" : ",") + axis + "=" + row["shape"][axis].dump();
    for (const std::string& knob : cli::keys_of(row["tile"])) {
      const Json& value = row["tile"][knob];
      tile += (tile.empty() ? "" : ",") + knob + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
    }
    const auto run = cli::napkin({"query", "attention", "--gpu", "h200-sxm", "--kernel", "attention_sm90", "--json", "--shape", shape, "--tile", tile});
    REQUIRE_MESSAGE(run.code == 0, run.err);
    out[row["tile"]["x"].get<int>()][row["tile"]["order"].get<std::string>()] = {row["measured"]["cycles"].get<double>(), run.json()["predicted"]["cycles"].get<double>()};
  }
  return out;
}

TEST_CASE("a tile that is drawn takes longer than one that is dealt out, one that is launched too, in measurement as predicted") {
  const auto all = unmasked();
  CHECK(all.size() == 4);
  double measured_sum = 0, predicted_sum = 0;  // one width's cycles repeat within 2 %, which is a third of a draw's
  for (const auto& each : all) {
    const int x = each.first;
    const auto& orders = each.second;
    CAPTURE(x);
    const Cycles &dealt = orders.at("persistent"), &drawn = orders.at("longest_first"), &launched = orders.at("grid");
    const double measured = (drawn.measured - dealt.measured) / tiles, predicted = (drawn.predicted - dealt.predicted) / tiles;
    MESSAGE("x = " << x << ", clocks a tile more: drawn " << measured << ", predicted " << predicted << "; launched " << (launched.measured - dealt.measured) / tiles
                   << ", predicted " << (launched.predicted - dealt.predicted) / tiles);
    measured_sum += measured;
    predicted_sum += predicted;
    CHECK(drawn.measured > dealt.measured);
    CHECK(launched.predicted > dealt.predicted);
    CHECK(launched.measured > dealt.measured);
  }
  CHECK(predicted_sum >= 0.7 * measured_sum);
  CHECK(predicted_sum <= 1.1 * measured_sum);
}

TEST_CASE("cycles of the three orders are predicted, with and without a mask") {
  const auto run = cli::napkin({"validate", "--json", "--replay", file});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const Json rows = run.json()["kernels"]["attention_sm90"]["held-out"], cycles = rows["cycles_error"];
  CHECK(rows["rows"] == 24);
  CHECK(cycles["mean"].get<double>() <= 0.055);
  CHECK(cycles["worst"].get<double>() <= 0.115);
}

}  // namespace

}  // namespace test_orders
