// Figures 34 to 37 of "FlashAttention on a Napkin" and the paper's conclusions from them, as runs of the event graph:
// the paper's machine, the mappings' edges. If the paper rounds or errs, the test has the right value and a note of the
// printed one.

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "model/clock/run/overhead.hpp"
#include "model/resource/table.hpp"
#include "tests/golden/cli.hpp"
#include "tests/support/layout.hpp"

namespace test_paper_schedules {

using namespace napkin;
using namespace napkin::internal;

namespace {

constexpr double two_thirds = 2.0 / 3;  // the paper's hypothesis for the softmax, printed 66 %
constexpr double exact = 1e-5;          // tolerance of a budget and of a share

/// One schedule at d = 128 on the paper's machine.
struct Schedule {
  Schedule(const std::string& kernel, DType type, const test::Knobs& tile)
      : laid(kernel, "paper-h100", {{"h", 16}, {"q", 8448}, {"x", 8192}, {"d", 128}}, type),
        placed(laid.place(tile)),
        graph(event_graph(placed)) {}

  test::LaidOut laid;
  PlacedDiagram placed;
  EventGraph graph;

  /// Returns the clocks a thread of an iteration with that overhead of the softmax: the paper's unit, of 128 threads a
  /// warpgroup.
  [[nodiscard]] double iteration(double overhead = 0) const {
    return period(with_overhead(graph, "P", overhead)).clocks / 128;
  }
  [[nodiscard]] double utilisation(double overhead = 0) const {
    const EventGraph slower = with_overhead(graph, "P", overhead);
    return tensor_share(slower, period(slower));
  }
};

Schedule between(DType type) {
  return {"napkin_fa3", type, {{"warpgroups", "2"}, {"q", "256"}, {"x", "128"}, {"overlap", "between"}}};
}
Schedule within(DType type) {
  return {"napkin_fa3", type, {{"warpgroups", "1"}, {"q", "128"}, {"x", "128"}, {"overlap", "within"}}};
}
Schedule napkin_fp8(const std::string& warpgroups) {
  return {"napkin_fp8",
          DType::e4m3,
          {{"warpgroups", warpgroups},
           {"q", std::to_string(128 * std::stoi(warpgroups))},
           {"x", "64"},
           {"u_x", "64"},
           {"d_block", "32"},
           {"d_step", "8"}}};
}

/// Computes an iteration of n warpgroups that overlap one another, each with one iteration in flight, by the paper's
/// arithmetic from its table of clocks a thread; within_twin() one of a warpgroup that overlaps its softmax with its
/// own second product.
double between_twin(const ThroughputTable& table, int n, double overhead) {
  double tensor = 0, special = 0;
  for (const ThroughputRow& row : table.rows) (row.unit == "special" ? special : tensor) += row.clocks;
  return std::max({n * tensor, n * special * (1 + overhead), tensor + special * (1 + overhead)});
}
double within_twin(const ThroughputTable& table, double overhead) {
  return table.rows[0].clocks + std::max(table.rows[2].clocks, table.rows[1].clocks * (1 + overhead));
}

}  // namespace

TEST_CASE("Figure 36: FP16, a softmax between warpgroups has room for 100 %, within one for none") {
  const Schedule inter = between(DType::f16), intra = within(DType::f16);
  CHECK(inter.utilisation() == doctest::Approx(1));
  CHECK(intra.utilisation() == doctest::Approx(1));
  CHECK(overhead_budget(inter.graph, "P") == doctest::Approx(1).epsilon(exact));
  CHECK(overhead_budget(intra.graph, "P") == 0);
}

TEST_CASE(
    "Figure 37: FP8 is bound by the softmax: no room in either, and within one warpgroup a third is lost at once") {
  const Schedule inter = between(DType::e4m3), intra = within(DType::e4m3);
  CHECK(inter.utilisation() == doctest::Approx(1));
  CHECK(overhead_budget(inter.graph, "P") == 0);
  CHECK(intra.utilisation() == doctest::Approx(two_thirds));  // "a minimum of 33 %": 1.5 times as long
  CHECK(overhead_budget(intra.graph, "P") == 0);
}

TEST_CASE("section 6.3: a softmax 66 % longer explains 75 % of FP16's peak and 60 % of FP8's") {
  CHECK(within(DType::f16).utilisation(two_thirds) == doctest::Approx(0.75));    // 740 of 989 TFLOP/s: 4/3 as long
  CHECK(between(DType::e4m3).utilisation(two_thirds) == doctest::Approx(0.60));  // 1.2 of 1.98 PFLOP/s: 5/3 as long
  // the paper's statement about the other schedules
  CHECK(between(DType::f16).utilisation(two_thirds) == doctest::Approx(1));
  CHECK(within(DType::e4m3).utilisation(two_thirds) == doctest::Approx(6.0 / 13));
}

TEST_CASE("the runs take what the paper's arithmetic says, whatever the overhead") {
  for (const DType type : {DType::f16, DType::e4m3}) {
    const Schedule inter = between(type), intra = within(type);
    const ThroughputTable two = throughput_table(inter.placed), one = throughput_table(intra.placed);
    REQUIRE(one.rows.size() == 3);  // Q K, exponentials, P V
    for (const double overhead : {0.0, 0.25, 0.5, two_thirds, 1.0, 1.5, 3.0}) {
      CAPTURE(overhead);
      CHECK(inter.iteration(overhead) == doctest::Approx(between_twin(two, 2, overhead)).epsilon(exact));
      CHECK(intra.iteration(overhead) == doctest::Approx(within_twin(one, overhead)).epsilon(exact));
    }
  }
}

TEST_CASE("Figure 34: one warpgroup does one thing after the other") {
  const Schedule one = napkin_fp8("1");
  // Q K 2 (erratum P6: the caption's ruler is one clock), 64 exponentials 4, P V 4; only the 65th and the update run
  // beside.
  CHECK(one.iteration() == doctest::Approx(10));
}

TEST_CASE(
    "Figure 35: three warpgroups keep the tensor cores busy with 47.7 % of overhead of the softmax, 100 % of the "
    "update") {
  const Schedule three = napkin_fp8("3");
  CHECK(three.iteration() == doctest::Approx(18));
  CHECK(three.utilisation() == doctest::Approx(1));
  const double softmax = overhead_budget(three.graph, "P");
  CHECK(softmax == doctest::Approx(18 / (3 * 4.0625) - 1).epsilon(exact));  // erratum P7: printed 50 %
  // Both overlaps at once, as the paper draws them.
  const EventGraph slower = with_overhead(three.graph, "P", softmax - exact);
  CHECK(overhead_budget(slower, "O") >= 1);
  CHECK(period(with_overhead(slower, "O", 1)).clocks == doctest::Approx(18 * 128));
}

TEST_CASE("an overhead of none changes nothing, an unknown operation is refused") {
  const Schedule three = napkin_fp8("3");
  CHECK(operations_with_overhead(three.graph) == std::vector<std::string>{"P", "O"});
  CHECK(period(with_overhead(three.graph, "P", 0)).clocks == period(three.graph).clocks);
  CHECK_THROWS_AS((void)with_overhead(three.graph, "S", 0.5), Error);  // S has tensor work alone
  CHECK_THROWS_AS((void)with_overhead(three.graph, "P", -0.5), Error);
}

TEST_CASE("barriers of Figures 34 and 35 wait for the tensor cores, and the ruler is a clock of each thread") {
  for (const char* tile :
       {"q=128,warpgroups=1,x=64,u_x=64,d_block=64,d_step=8", "q=384,warpgroups=3,x=64,u_x=64,d_block=32,d_step=8"}) {
    const cli::Run run =
        cli::napkin(std::string("timeline attention --gpu paper-h100 --kernel napkin_fp8 --dtype e4m3 --shape "
                                "h=16,q=8448,x=8192,d=128 --iterations 2 --json --tile ") +
                    tile);
    REQUIRE_MESSAGE(run.code == 0, run.err);
    const auto json = run.json();
    CHECK(json["ruler"] == 128);
    int waits = 0;
    for (const auto& span : json["spans"]) {
      if (!span.contains("waits_for")) continue;
      ++waits;
      CHECK(span["waits_for"]["tensor"] == true);
    }
    CHECK(waits >= 3);
  }
}

TEST_CASE("FlashAttention-3's overlap within a warpgroup holds a second S: registers run out (section 6.1)") {
  const ConfigurationTable one = configuration_table(between(DType::f16).placed),
                           two = configuration_table(within(DType::f16).placed);
  const auto scores = [](const ConfigurationTable& table) {
    for (const ConfigurationRow& row : table.rows) {
      if (row.variable == "S") return row;
    }
    return ConfigurationRow{};
  };
  CHECK(scores(two).copies == 2 * scores(one).copies);
  CHECK(scores(two).agent_bytes.value == 2 * 128 * 128 * 4);
  CHECK(two.totals.back().agent_bytes.value - one.totals.back().agent_bytes.value == 128 * 128 * 4);
}

TEST_CASE("napkin timeline draws them, with their room") {
  const std::string fig35 =
      "timeline attention --gpu paper-h100 --kernel napkin_fp8 --dtype e4m3 --shape h=16,q=8448,x=8192,d=128 "
      "--tile q=384,warpgroups=3,x=64,u_x=64,d_block=32,d_step=8 --json";
  const cli::Run run = cli::napkin(fig35);
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(run.json()["overhead_budget"]["P"].get<double>() == doctest::Approx(0.476923).epsilon(exact));
  CHECK(run.json()["pipes"]["tensor"].get<double>() == doctest::Approx(1));
  const cli::Run slower = cli::napkin(fig35 + " --overhead P=1,O=0.5");
  REQUIRE_MESSAGE(slower.code == 0, slower.err);
  CHECK(slower.json()["overhead"]["P"] == 1);
  CHECK(slower.json()["period"]["cycles"].get<double>() == doctest::Approx(3 * 2 * 4.0625 * 128));
  cli::check_refused(cli::napkin(fig35 + " --overhead S=1"), "overhead: no vector work of 'S'");
  cli::check_refused(cli::napkin(fig35 + " --overhead P=-1"), "a number from 0");
  cli::check_refused(cli::napkin(fig35 + " --overhead P=nan"), "a number from 0");
  cli::check_refused(cli::napkin(fig35 + " --overhead P=1001"), "from 0 to 1000");
  cli::check_refused(cli::napkin(fig35 + " --overhead P"), "has no '='");
}

}  // namespace test_paper_schedules
