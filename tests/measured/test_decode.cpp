// attention_decode_sm90 on an H200: results right by the rule for every kernel, the speed of docs/lab/decode.md, and
// predicted times of warm launches.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "tests/kernel/decode_arrays.hpp"
#include "tests/measured/row.hpp"

namespace test_decode {

namespace {

using namespace napkin;
using namespace napkin::internal;
using cli::Json;
using measured::number;

constexpr double datasheet = 4.8e12;   // bytes a second of an H200's device memory
constexpr double reachable = 4.62e12;  // bytes a second, as docs/lab/decode.md predicted

double bytes_of(const Json& shape) {  // K and V, once
  return 2 * number(shape, "b") * number(shape, "h") * number(shape, "x") * (number(shape, "d") + number(shape, "dv"));
}

/// Returns true if the arrays are ten times as large as the L2, so that they come from device memory even if it is
/// warm.
bool large(const Json& row) { return bytes_of(row["shape"]) > 5e8; }

std::vector<Json> dense() { return measured::rows_of("decode/dense.jsonl"); }
std::vector<Json> paged() { return measured::rows_of("decode/paged.jsonl"); }

}  // namespace

TEST_CASE("decode: every recorded result is right, the row of one query by the rounding of its type") {
  for (const std::vector<Json>& rows : {dense(), paged()}) {
    CHECK(rows.size() == 12);
    for (const Json& row : rows) {
      CHECK(number(row, "max_error") <= allowed_error(number(row, "reference_error")));
      CHECK(number(row, "lse_error") <= 1e-3);
      CHECK(row["unwritten"] == 0);
      CHECK(row["spills"] == 0);
    }
  }
  const std::vector<Json> checks = measured::rows_of("decode_checks/emulated_cases.jsonl");
  REQUIRE(checks.size() == 2);
  CHECK(checks[1]["cases"] == 220);
  CHECK(checks[1]["wrong"] == 1);
  const Json& row = checks[0];
  const auto cases = test::decode_cases(22);
  REQUIRE(cases.size() >= 220);  // padded heads are younger than the recording
  const auto name = row["case"].get<std::string>();
  const auto of = std::find_if(cases.begin(), cases.end(),
                               [&](const test::DecodeCase& one) { return test::describe(one) == name; });
  REQUIRE(of != cases.end());
  // only the formula is compared, as there is no output
  const Comparison anew = test::DecodeArrays(*of).compare_all(48);
  CHECK(anew.reference_error == doctest::Approx(number(row, "reference_error")).epsilon(1e-6));
  CHECK(row["rows"] == 1);
  CHECK(number(row, "max_error") > allowed_error(anew.reference_error));
  CHECK(number(row, "max_error") <= allowed_error(anew.reference_error, anew.rounding));
  CHECK(row["unwritten"] == 0);
  CHECK(row["repeats"] == true);
}

TEST_CASE("decode: rates of the shapes beyond the L2, cold and warm") {
  double least = datasheet, most = 0, least_warm = datasheet, most_warm = 0;
  int shapes = 0, reached = 0, reached_warm = 0, most_of_reachable = 0;
  for (const Json& row : dense()) {
    const double cold = bytes_of(row["shape"]) / number(row, "cold"),
                 warm = bytes_of(row["shape"]) / number(row, "warm");
    CHECK(cold == doctest::Approx(number(row, "cold_rate")));
    if (!large(row) || row["shape"]["q"] != 1) continue;
    ++shapes;
    reached += cold >= 0.9 * datasheet;
    reached_warm += warm >= 0.9 * datasheet;
    most_of_reachable += warm >= 0.9 * reachable;
    least = std::min(least, cold);
    most = std::max(most, cold);
    least_warm = std::min(least_warm, warm);
    most_warm = std::max(most_warm, warm);
  }
  CHECK(shapes == 7);
  CHECK(least == doctest::Approx(3.62e12).epsilon(0.002));
  CHECK(most == doctest::Approx(4.43e12).epsilon(0.002));
  CHECK(least_warm == doctest::Approx(4.12e12).epsilon(0.002));
  CHECK(most_warm == doctest::Approx(4.59e12).epsilon(0.002));
  CHECK(reached == 1);  // one row reaches the aim, 90 % of the datasheet's rate
  CHECK(reached_warm == 5);
  CHECK(most_of_reachable == 6);
}

TEST_CASE("decode: pages of 64 keys cost up to six percent") {
  const std::vector<Json> without = dense(), with = paged();
  for (std::size_t i = 0; i < without.size(); ++i) {
    REQUIRE(without[i]["shape"] == with[i]["shape"]);
    REQUIRE(without[i]["tile"] == with[i]["tile"]);
    CHECK(with[i]["page"] == 64);
    for (const char* state : {"cold", "warm"}) {
      const double slower = number(with[i], state) / number(without[i], state) - 1;
      CHECK(slower > -0.01);
      CHECK(slower < 0.06);
    }
  }
}

TEST_CASE("decode: the prediction beside the measurement") {
  for (Json row : dense()) {
    row["kernel"] = "attention_decode_sm90";
    CAPTURE(row["shape"].dump());
    const double predicted = number(measured::predicted(row), "time");
    const double warm = number(row, "warm") / predicted - 1, cold = number(row, "cold") / predicted - 1;
    CHECK(warm > -0.022);
    CHECK(cold > warm);
    if (!large(row)) continue;
    const bool one_query = row["shape"]["q"] == 1, many_key_heads = number(row["shape"], "h") > 1;
    CHECK(warm < (one_query && many_key_heads ? 0.027 : 0.07));
    CHECK(cold < 0.23);
  }
}

TEST_CASE("decode: parts under way together, in turns with one after the other") {
  const std::vector<Json> before = measured::rows_of("decode_combine/before.jsonl"),
                          now = measured::rows_of("decode_combine/now.jsonl");
  REQUIRE(before.size() == 22);
  REQUIRE(now.size() == before.size());
  for (std::size_t i = 0; i < now.size(); ++i) {
    CAPTURE(now[i]["shape"].dump());
    REQUIRE(now[i]["shape"] == before[i]["shape"]);
    REQUIRE(now[i]["tile"] == before[i]["tile"]);
    CHECK(number(now[i], "max_error") <= allowed_error(number(now[i], "reference_error")));
    CHECK(now[i]["unwritten"] == 0);
    CHECK(now[i]["spills"] == 0);
    const bool parts = number(now[i]["shape"], "x") > std::stod(now[i]["tile"]["shared.x"].get<std::string>());
    const double warm = number(now[i], "warm") / number(before[i], "warm"),
                 cold = number(now[i], "cold") / number(before[i], "cold");
    CHECK(std::abs(warm - 1) < (parts ? 0.18 : 0.01));
    CHECK(std::abs(cold - 1) < (parts ? 0.16 : 0.01));
    if (!parts) continue;
    CHECK(warm < 0.995);
    CHECK(cold < 1.001);
    if (now[i]["shape"]["q"] == 16) CHECK(warm < 0.85);
  }
}

TEST_CASE("decode: today's combine beside cuDNN in the same sitting") {
  const std::vector<Json> now = measured::rows_of("decode_combine/now.jsonl");
  int large_ones = 0;
  for (const Json& peer : measured::rows_of("decode_peers/peers.jsonl")) {
    for (const Json& row : now) {
      if (row["shape"] != peer["shape"]) continue;
      CAPTURE(row["shape"].dump());
      const double warm = number(peer["peers"]["cudnn"], "warm") / number(row, "warm"),
                   cold = number(peer["peers"]["cudnn"], "cold") / number(row, "cold");
      if (row["shape"]["q"] != 1) {
        CHECK(std::min(warm, cold) > 5.6);
      } else if (large(row)) {
        ++large_ones;
        CHECK(warm > 0.999);
        CHECK(warm < 1.03);
        CHECK(cold > 0.947);
        CHECK(cold < 0.97);
      } else {
        CHECK(cold > 1.1);
        CHECK(cold < 1.19);
      }
    }
  }
  CHECK(large_ones == 10);
}

// PyTorch's way took attention_sm90 at three of these four questions (docs/lab/peers.md) and attention_decode_sm90 at
// the fourth, which gives the ratio of that card to the one of decode_combine.
TEST_CASE(
    "decode: at 500 MB of keys attention_sm90 and attention_decode_sm90 tie, as predicted, once cards are told apart") {
  const std::vector<Json> now = measured::rows_of("decode_combine/now.jsonl"),
                          turns = measured::rows_of("in_turns/beside.jsonl");
  const auto by_decode = [&](const Json& shape) {  // mean of attention_decode_sm90's rows at that shape
    double sum = 0;
    int rows = 0;
    for (const Json& row : now) {
      if (row["shape"] != shape) continue;
      sum += number(row, "warm"), ++rows;
    }
    return rows == 0 ? 0.0 : sum / rows;
  };
  const auto of = [&](std::int64_t b, std::int64_t x) {
    return *std::find_if(turns.begin(), turns.end(), [&](const Json& row) {
      return row["kind"] == "decode" && row["shape"]["q"] == 1 && row["shape"]["b"] == b && row["shape"]["x"] == x;
    });
  };
  const Json split = of(1, 131072);
  const double card = number(split["napkin"], "sustained") / by_decode(split["shape"]);
  CHECK(card > 1.01);
  CHECK(card < 1.03);
  for (const auto& [b, x] : std::vector<std::pair<std::int64_t, std::int64_t>>{{8, 8192}, {64, 4096}, {16, 8192}}) {
    const Json row = of(b, x);
    CAPTURE(row["shape"].dump());
    CHECK(std::abs(number(row["napkin"], "sustained") / (card * by_decode(row["shape"])) - 1) < 0.012);
  }
}

TEST_CASE("decode: beside PyTorch's fastest, L2 cold") {
  for (const Json& row : dense()) {
    CAPTURE(row["shape"].dump());
    double peer = INFINITY;
    for (const Json& time : row["peers"]) {
      if (time.is_number()) peer = std::min(peer, time.get<double>());
    }
    const double ratio = peer / number(row, "cold");
    if (row["shape"]["q"] != 1) {
      CHECK(ratio > 3.5);
    } else if (large(row)) {
      CHECK(ratio > 0.90);
      CHECK(ratio < 1);
    } else {
      CHECK(ratio > 1.05);
      CHECK(ratio < 1.13);
    }
  }
}

TEST_CASE("decode: of one query attention_sm90 and attention_decode_sm90 take the same time in one run") {
  std::map<std::string, std::vector<double>> plain, split;
  for (const Json& row : measured::rows_of("decode_kernels/both.jsonl")) {
    CHECK(row["good"] == true);
    const bool decode = row["kernel"] == "attention_decode_sm90";
    if (!decode && row["l2"] != "warm") continue;
    const double time = number(row, decode ? "warm" : "time");
    (decode ? split : plain)[row["shape"].dump()].push_back(time);
    if (!decode) CHECK(number(measured::predicted(row), "time") / time == doctest::Approx(0.99).epsilon(0.012));
  }
  CHECK(plain.size() == 3);
  for (const auto& [shape, times] : plain) {
    CAPTURE(shape);
    const double best = *std::min_element(split.at(shape).begin(), split.at(shape).end());
    CHECK(times.size() == 2);
    CHECK(times[0] / times[1] == doctest::Approx(1).epsilon(0.005));
    CHECK(times[0] / best > 0.99);
    CHECK(times[0] / best < 1.025);
  }
}

}  // namespace test_decode
