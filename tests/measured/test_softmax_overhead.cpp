// The paper's hypothesis (section 6.3): a softmax that takes 66 % longer than its exponentials explains what
// FlashAttention-3 reaches, 75 % of FP16's peak and 60 % of FP8's. Held against an H200: each measured share of the
// tensor cores is turned into the overhead that the paper's own schedule needs for it (napkin_fa3 on the paper's
// machine).

#include <fmt/format.h>

#include <algorithm>

#include "model/clock/roofline/load.hpp"
#include "model/clock/run/overhead.hpp"
#include "tests/measured/row.hpp"
#include "tests/support/layout.hpp"

namespace test_softmax_overhead {

using namespace napkin;
using namespace napkin::internal;
using cli::Json;

namespace {

constexpr double hypothesis = 2.0 / 3;

/// Returns the overhead with which the paper's schedule reaches that share of the tensor cores; the share falls as the
/// overhead grows.
double overhead_for(double share, const std::string& overlap, DType type, std::int64_t d) {
  const std::string warpgroups = overlap == "between" ? "2" : "1", rows = overlap == "between" ? "256" : "128";
  const test::LaidOut laid("napkin_fa3", "paper-h100", {{"h", 16}, {"q", 8448}, {"x", 8192}, {"d", d}}, type);
  const EventGraph graph = event_graph(laid.place({{"warpgroups", warpgroups}, {"q", rows}, {"overlap", overlap}}));
  const auto reached = [&](double overhead) {
    const EventGraph slower = with_overhead(graph, "P", overhead);
    return tensor_share(slower, period(slower, false));
  };
  double low = 0, high = 64;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (reached(middle) > share ? low : high) = middle;
  }
  return low;
}

/// Returns the share of the tensor cores in the cycles of the best recorded tile with that overlap: long sequences, no
/// mask.
double best_share(std::int64_t d, const std::string& within, const std::string& between, int warpgroups) {
  double best = 0;
  for (const Json& row : measured::rows_of("overlaps/one_and_two_warpgroups.jsonl")) {
    const Json &shape = row["shape"], &tile = row["tile"];
    if (row["mask"] != "none" || shape["d"] != d || shape["x"] != 16384 || row["measured"]["cycles"].is_null())
      continue;
    if (tile["overlap"] != within || tile["pingpong"] != between || tile["warpgroups"] != warpgroups) continue;
    const double flops = 4.0 * shape["b"].get<double>() * shape["h"].get<double>() * shape["q"].get<double>() *
                         shape["x"].get<double>() * static_cast<double>(d);
    const Machine& machine = test::built_in_machine("h200-sxm");
    const double a_clock =
        machine.tensor_for(DType::bf16)->flop_per_clock * static_cast<double>(machine.compute_nodes().get());
    best = std::max(best, flops / a_clock / row["measured"]["cycles"].get<double>());
  }
  REQUIRE(best > 0);
  return best;
}

/// Prints the implied overhead and returns it.
double implied(const std::string& what, double share, const std::string& overlap, DType type, std::int64_t d) {
  const double overhead = overhead_for(share, overlap, type, d);
  MESSAGE(fmt::format("{}: tensor cores busy {:.1f} %, which takes an overhead of {:.0f} %", what, 100 * share,
                      100 * overhead));
  return overhead;
}

}  // namespace

TEST_CASE("the hypothesis does not hold on an H200: no one overhead explains its kernels") {
  // Today's FlashAttention-3, by the tensor pipe's counter (tests/golden/test_fa3_cycles.cpp), in the paper's schedule
  // with overlap within a warpgroup.
  const double fa3 = implied("FlashAttention-3, bf16, d = 128", 0.872, "within", DType::f16, 128);
  const double fa3_fp8 = implied("FlashAttention-3, e4m3, d = 128", 0.533, "within", DType::e4m3, 128);
  // attention_sm90 with one of the two overlaps alone, which is what the paper's figures draw.
  const double intra = implied("within alone, d = 128", best_share(128, "on", "off", 1), "within", DType::f16, 128);
  const double intra_64 = implied("within alone, d = 64", best_share(64, "on", "off", 1), "within", DType::f16, 64);
  const double inter = implied("between alone, d = 128", best_share(128, "off", "on", 2), "between", DType::f16, 128);
  CHECK(fa3 < hypothesis / 2);
  CHECK(fa3_fp8 < hypothesis * 0.75);
  CHECK(intra > 2 * hypothesis);
  CHECK(intra_64 > 2 * hypothesis);
  CHECK(inter > 2 * hypothesis);
  // It predicts 75 % within and 100 % between warpgroups, and today's kernels, which do both, between the two.
  CHECK(best_share(128, "on", "off", 1) < 0.75);
  CHECK(best_share(128, "off", "on", 2) < 0.75);
  CHECK(best_share(128, "on", "on", 2) > best_share(128, "off", "on", 2));
}

TEST_CASE(
    "the overhead of one warpgroup is the one that its instructions have: 50 % alone, 180 % beside the tensor cores") {
  // reference: the micro-kernels of 2026-11-20. A softmax of 4 warps, maximum first, makes 10.7 elements a clock, where
  // its exponentials alone would make 16; beside the tensor cores a mix of instructions runs at 0.23 of its 0.43 slots.
  const double alone = 16 / 10.7 - 1, beside = 16 / 10.7 * (0.43 / 0.23) - 1;
  CHECK(alone < hypothesis);
  CHECK(beside > hypothesis);
  const double intra = overhead_for(best_share(128, "on", "off", 1), "within", DType::f16, 128);
  const double intra_64 = overhead_for(best_share(64, "on", "off", 1), "within", DType::f16, 64);
  CHECK(intra == doctest::Approx(beside).epsilon(0.1));
  CHECK(intra_64 == doctest::Approx(beside).epsilon(0.1));
}

}  // namespace test_softmax_overhead
