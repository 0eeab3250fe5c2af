// Runs of blocks that skip repeating iterations, compared with runs of all iterations.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "model/clock/run/period.hpp"
#include "model/clock/run/simulation.hpp"
#include "model/resource/plan.hpp"
#include "solver/space/constraints.hpp"
#include "solver/space/enumerate.hpp"
#include "tests/support/case_count.hpp"
#include "tests/unit/select/case.hpp"

namespace test_repeating_blocks {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::Case;

namespace {

/// Visits graphs of legal tiles drawn from a kernel's space.
template <class Take>
void each_graph(const std::string& kernel, std::int64_t d, int graphs, const Take& take) {
  const Case c(kernel, "h200-sxm", {{"h", 16}, {"q", 4096}, {"x", 4096}, {"d", d}}, {Mask::Kind::causal, 0, 0});
  const Placer placer(c.streamed, c.mapping, c.machine, c.problem);
  const Space space = space_of(c.setup());
  std::mt19937_64 random(static_cast<std::uint64_t>(d));
  while (graphs > 0) {
    const PlacedDiagram placed = placer.place(
        space.tile(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(space.candidates.get()))));
    if (!violations(placed, plan(placed)).empty()) continue;
    --graphs;
    take(event_graph(placed));
  }
}

double apart(double a, double b) { return std::abs(a / b - 1); }

struct Counted {
  int all = 0, apart = 0;
  double worst = 0;
  void take(double by) {
    ++all;
    apart += by > 1e-4 ? 1 : 0;
    worst = std::max(worst, by);
  }
};

}  // namespace

TEST_CASE(
    "blocks that go on at their end where they repeat themselves end with those that are run in full, but for one in "
    "hundreds that never quite settles") {
  Counted runs, others;
  int repeated = 0;
  for (const std::string kernel : {"attention_sm90", "flash_attention_3", "attention_sm80"}) {
    for (const std::int64_t d : {64, 128}) {
      each_graph(kernel, d, test::rounds(80), [&](const EventGraph& graph) {
        Simulation simulation(graph);
        const CutIterations cut = graph.nodes.size() % 2 == 0 ? CutIterations{} : CutIterations{2, 1};
        constexpr int iterations = 36, shorter = 9;
        const Simulation::FirstBlocks found = simulation.first_blocks(iterations, cut),
                                      full = simulation.first_blocks(iterations, cut, true);
        double by = 0;
        for (std::size_t b = 0; b < 3; ++b) by = std::max(by, apart(found.clocks[b], full.clocks[b]));
        runs.take(by);
        CHECK(full.least == iterations);
        repeated += found.least < iterations ? 1 : 0;
        for (const int n : {shorter, 12, 17, 23}) {
          if (n < found.least || (iterations - n) % found.turn != 0) continue;
          const Simulation::FirstBlocks other = simulation.first_blocks(n, cut, true);
          for (std::size_t b = 0; b < 3; ++b)
            others.take(apart(found.clocks[b] - (iterations - n) * found.more[b], other.clocks[b]));
        }
      });
    }
  }
  CAPTURE(runs.worst);
  CAPTURE(others.worst);
  CHECK(repeated > runs.all / 2);
  CHECK(runs.apart <= std::max(runs.all / 50, 1));
  CHECK(runs.worst < 0.03);
  CHECK(others.all > runs.all);
  CHECK(others.apart <= std::max(others.all / 50, 1));
  CHECK(others.worst < 0.02);
}

TEST_CASE("clocks of blocks do not depend on which lengths were asked for before") {
  std::mt19937 random(5);
  each_graph("attention_sm90", 64, test::rounds(12), [&](const EventGraph& graph) {
    const Period often = period(graph, false);
    for (int i = 0; i < 12; ++i) {
      const double iterations = std::uniform_real_distribution<>(1, 45)(random);
      const CutChunks cut{std::uniform_real_distribution<>(0, 3)(random), 0};
      const Period once = period(graph, false);
      CHECK(block_clocks(graph, often, iterations, cut) == block_clocks(graph, once, iterations, cut));
    }
  });
}

}  // namespace test_repeating_blocks
