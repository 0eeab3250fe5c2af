// What no block of many tiles goes below, against each of them.
#include <doctest/doctest.h>

#include <random>

#include "model/clock/block_floor.hpp"
#include "tests/laid_out.hpp"
#include "tests/rounds.hpp"

namespace test_block_floor {

using namespace napkin;
using namespace napkin::test;

namespace {

constexpr double rounding = 1 + 1e-12;

/// Tiles of one size whose buffers differ, each known to another depth.
struct States {
  LaidOut laid_out{"attention_sm90",
                   "h200-sxm",
                   {{"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 128}},
                   DType::bf16,
                   {Mask::Kind::causal, 0, 0}};
  std::shared_ptr<Periods> periods = std::make_shared<Periods>();
  std::vector<EventGraph> graphs;
  std::vector<GraphState> states;
  std::vector<Period> whole;  ///< with runs of its own

  States() {
    for (const char* stages : {"1", "2", "3"}) {
      for (const char* warpgroups : {"1", "2"}) {
        const PlacedDiagram placed = laid_out.place(
            {{"q", warpgroups[0] == '1' ? "64" : "128"}, {"x", "64"}, {"warpgroups", warpgroups}, {"stages", stages}});
        graphs.push_back(event_graph(placed));
        states.push_back(GraphSteps::state_of(graphs.back()));
        whole.push_back(period(graphs.back(), false));
        const GraphSteps steps(placed, periods);
        for (std::size_t raised = 0; raised < graphs.size() % 4; ++raised) {
          if (raised < 2) steps.raise(graphs.back(), states.back());
        }
      }
    }
  }
};

MeanBlock any_mean(std::mt19937& random) {
  const auto of = [&](double most) { return std::uniform_real_distribution<>(0, most)(random); };
  const double first = of(3), last = of(2);
  const bool whole = of(1) < 0.3;
  return mean_block(whole ? std::floor(of(60)) + 1 : 1 + of(60),
                    whole ? CutChunks{0, std::floor(last)} : CutChunks{first, last});
}

/// block_clocks() of that mean: by runs of the whole numbers around it.
BlockClocks block_between(const EventGraph& graph, const Period& period, const MeanBlock& mean) {
  const auto run = [&](double more, CutIterations cut) {
    return block_clocks(graph, period, mean.iterations + more,
                        {static_cast<double>(cut.first), static_cast<double>(cut.last)});
  };
  (void)run(0, mean.more);
  (void)run(mean.rest > 0 ? 1 : 0, mean.fewer);
  (void)run(0, mean.fewer);
  return *known_block_clocks(period, mean);
}

}  // namespace

TEST_CASE("no block of any state is below the floor of all, whatever runs are known") {
  States s;
  std::mt19937 random(5);
  BlockFloor all, parts[2], both;
  for (std::size_t i = 0; i < s.states.size(); ++i) {
    all.add(s.states[i]);
    parts[i % 2].add(s.states[i]);
  }
  for (BlockFloor& part : parts) both.add(part);
  std::uint64_t found = 1;
  int tight = 0, tight_in_parts = 0;
  const int rounds = test::rounds(150);
  for (int round = 0; round < rounds; ++round) {
    const MeanBlock mean = any_mean(random);
    if (round % 3 == 0) {  // a block is run
      const std::size_t i = random() % s.states.size();
      if (s.states[i].period != nullptr) {
        (void)block_clocks(s.graphs[i], *s.states[i].period, mean.iterations,
                           {static_cast<double>(mean.fewer.first), static_cast<double>(mean.fewer.last)});
        ++found;
      }
    }
    all.renew(found);
    both.renew(found);
    const BlockClocks floor = all.block(mean), in_parts = both.block(mean);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < s.states.size(); ++i) {
      const BlockClocks block = block_between(s.graphs[i], s.whole[i], mean);
      CAPTURE(round);
      CAPTURE(i);
      CHECK(floor.first <= block.first * rounding);
      CHECK(floor.next <= block.next * rounding);
      CHECK(in_parts.first <= block.first * rounding);
      CHECK(in_parts.next <= block.next * rounding);
      CHECK(all.clocks() <= s.whole[i].clocks);
      CHECK(all.pipe() <= s.whole[i].pipe.clocks);
      least = std::min(least, s.states[i].blocks(mean.iterations + mean.rest, mean).next);
    }
    tight += floor.next > 0.98 * least ? 1 : 0;
    tight_in_parts += in_parts.next > 0.98 * least ? 1 : 0;
  }
  CHECK(tight > 0.8 * rounds);
  CHECK(tight_in_parts > 0.8 * rounds);
}

TEST_CASE("the floor of one state is what the state says") {
  States s;
  std::mt19937 random(6);
  for (std::size_t i = 0; i < s.states.size(); ++i) {
    BlockFloor one;
    one.add(s.states[i]);
    for (int round = 0; round < 60; ++round) {
      const MeanBlock mean = any_mean(random);
      (void)one.block(mean);  // what is not known yet is taken in later
      if (s.states[i].period != nullptr) (void)block_between(s.graphs[i], *s.states[i].period, mean);
      one.renew(static_cast<std::uint64_t>(round) + 2);
      const BlockClocks floor = one.block(mean), block = s.states[i].blocks(mean.iterations + mean.rest, mean);
      CAPTURE(i);
      CAPTURE(round);
      CHECK(floor.first == doctest::Approx(block.first).epsilon(1e-9));
      CHECK(floor.next == doctest::Approx(block.next).epsilon(1e-9));
    }
  }
}

TEST_CASE("where a state has the shortest run of one length and another that of the others, the floor is below both") {
  std::vector<Period> periods(2);
  std::vector<GraphState> states(2);
  BlockFloor floor;
  const MeanBlock mean{4, 0.9, {0, 0}, {0, 1}, 0.9};
  const double fewer[] = {100, 150}, others[] = {200, 190};
  for (std::size_t i = 0; i < 2; ++i) {
    periods[i].settled = 30;
    periods[i].run = std::make_shared<BlockRuns>();
    periods[i].run->add({{fewer[i], fewer[i]}, 4, 4}, {0, 0});
    periods[i].run->add({{others[i], others[i]}, 5, 5}, {0, 0});
    periods[i].run->add({{others[i], others[i]}, 4, 4}, {0, 1});
    states[i].period = &periods[i];
    states[i].from = periods[i].settled;
    floor.add(states[i]);
  }
  CHECK(states[0].blocks(4.9, mean).next == doctest::Approx(-0.8 * 100 + 1.8 * 200));
  CHECK(states[1].blocks(4.9, mean).next == doctest::Approx(-0.8 * 150 + 1.8 * 190));
  CHECK(floor.block(mean).next == doctest::Approx(-0.8 * 150 + 1.8 * 190));
}

}  // namespace test_block_floor
