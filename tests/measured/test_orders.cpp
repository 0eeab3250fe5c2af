// One tile of attention_sm90 in the three orders of blocks, short sequences with and without a mask: what lies between
// two tiles of a node.
#include <cmath>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/golden/cli.hpp"

namespace test_orders {

namespace {

using cli::Json;

const std::string file = NAPKIN_SOURCE_DIR "/tests/measured/orders/three_orders.jsonl";
constexpr double tiles = 16;  // of the busiest SM: 16 x 16 heads of 8 tiles on 132 SMs

/// Measured, and predicted anew.
struct Cycles {
  double measured = 0, predicted = 0;
};

std::vector<Json> rows_of(const std::string& of) {
  std::vector<Json> out;
  std::istringstream lines(cli::contents(of));
  for (std::string line; std::getline(lines, line);) out.push_back(cli::parse(line));
  return out;
}

/// Of a row without a mask.
Cycles cycles_of(const Json& row) {
  std::string shape, tile;
  for (const std::string& axis : cli::keys_of(row["shape"]))
    shape += (shape.empty() ? "" : ",") + axis + "=" + row["shape"][axis].dump();
  for (const std::string& knob : cli::keys_of(row["tile"])) {
    const Json& value = row["tile"][knob];
    tile += (tile.empty() ? "" : ",") + knob + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
  }
  const auto run = cli::napkin({"query", "attention", "--gpu", "h200-sxm", "--kernel", "attention_sm90", "--json",
                                "--shape", shape, "--tile", tile});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  return {row["measured"]["cycles"].get<double>(), run.json()["predicted"]["cycles"].get<double>()};
}

/// By keys a chunk and order, those without a mask.
std::map<int, std::map<std::string, Cycles>> unmasked() {
  std::map<int, std::map<std::string, Cycles>> out;
  for (const Json& row : rows_of(file)) {
    if (row["mask"] == "none")
      out[row["tile"]["x"].get<int>()][row["tile"]["order"].get<std::string>()] = cycles_of(row);
  }
  return out;
}

/// What one more iteration of a block takes, from one tile at two lengths of keys: the rest of a block drops out.
using Lengths = std::map<std::int64_t, Cycles>;
Cycles iteration(const Lengths& lengths, double blocks, int chunk) {
  REQUIRE(lengths.size() == 2);
  const auto &one = *lengths.begin(), &other = *lengths.rbegin();
  const double more = blocks * static_cast<double>((other.first + chunk - 1) / chunk - (one.first + chunk - 1) / chunk);
  return {(other.second.measured - one.second.measured) / more, (other.second.predicted - one.second.predicted) / more};
}

TEST_CASE(
    "a tile that is launched takes longer than one that is dealt out, in measurement as predicted; one that is drawn "
    "does not, as is not predicted") {
  const auto all = unmasked();
  CHECK(all.size() == 4);
  double drawn_sum = 0, launched_sum = 0,
         launched_predicted = 0;  // one width's cycles repeat within 1 %, a fifth of a launch's
  for (const auto& each : all) {
    const int x = each.first;
    const auto& orders = each.second;
    CAPTURE(x);
    const Cycles &dealt = orders.at("persistent"), &drawn = orders.at("longest_first"), &launched = orders.at("grid");
    const double measured = (drawn.measured - dealt.measured) / tiles,
                 predicted = (drawn.predicted - dealt.predicted) / tiles;
    MESSAGE("x = " << x << ", clocks a tile more: drawn " << measured << ", predicted " << predicted << "; launched "
                   << (launched.measured - dealt.measured) / tiles << ", predicted "
                   << (launched.predicted - dealt.predicted) / tiles);
    drawn_sum += measured;
    launched_sum += (launched.measured - dealt.measured) / tiles;
    launched_predicted += (launched.predicted - dealt.predicted) / tiles;
    CHECK(launched.predicted > dealt.predicted);
    CHECK(launched.measured > dealt.measured);
    CHECK(predicted < 450);
  }
  CHECK(std::abs(drawn_sum / 4) < 100);
  CHECK(launched_predicted > launched_sum);
  CHECK(launched_predicted < 1.5 * launched_sum);
}

TEST_CASE("cycles of the three orders are predicted, with and without a mask") {
  const auto run = cli::napkin({"validate", "--json", "--replay", file});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  const Json rows = run.json()["kernels"]["attention_sm90"]["held-out"], cycles = rows["cycles_error"];
  CHECK(rows["rows"] == 24);
  CHECK(cycles["mean"].get<double>() <= 0.033);
  CHECK(cycles["worst"].get<double>() <= 0.096);
}

TEST_CASE("an iteration takes the same in a tile dealt out, launched or drawn") {
  std::map<std::string, std::map<std::string, Lengths>> all;  // by tile and order
  std::map<std::string, Json> asked;
  for (const Json& row : rows_of(NAPKIN_SOURCE_DIR "/tests/measured/orders/two_lengths.jsonl")) {
    const Json& tile = row["tile"];
    const std::string name =
        "d = " + row["shape"]["d"].dump() + ", " + tile["warpgroups"].dump() + " warpgroups, x = " + tile["x"].dump();
    all[name][tile["order"].get<std::string>()][row["shape"]["x"].get<std::int64_t>()] = cycles_of(row);
    asked[name] = row;
  }
  CHECK(all.size() == 6);
  for (const auto& each : all) {
    const std::string& name = each.first;
    const Json &shape = asked[name]["shape"], &tile = asked[name]["tile"];
    const double rows = shape["q"].get<double>() / tile["q"].get<double>();
    const double blocks =
        std::ceil(std::ceil(rows) * shape["b"].get<double>() * shape["h"].get<double>() / 132);  // of the busiest SM
    const auto of = [&](const char* order) { return iteration(each.second.at(order), blocks, tile["x"].get<int>()); };
    const Cycles dealt = of("persistent"), launched = of("grid"), drawn = of("longest_first");
    MESSAGE(name << ": clocks an iteration, measured (predicted): dealt out " << dealt.measured << " ("
                 << dealt.predicted << "), launched " << launched.measured << " (" << launched.predicted << "), drawn "
                 << drawn.measured << " (" << drawn.predicted << ")");
    CHECK(launched.measured == doctest::Approx(dealt.measured).epsilon(0.045));
    CHECK(drawn.measured == doctest::Approx(dealt.measured).epsilon(0.012));
    // Weakest: three warpgroups, +6 and +7 %.
    CHECK(dealt.predicted ==
          doctest::Approx(dealt.measured).epsilon(tile["warpgroups"].get<int>() == 3 ? 0.07 : 0.017));
  }
}

}  // namespace

}  // namespace test_orders
