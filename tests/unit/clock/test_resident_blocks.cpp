// Unequal blocks that share nodes: against a plain acting out, by hand, and in a prediction.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "model/clock/launch/resident_blocks.hpp"

namespace test_resident_blocks {

using namespace napkin;
using namespace napkin::internal;

namespace {

/// The same launch with all nodes advanced to each block's end, whoever's it is.
double acted_out(const ResidentLaunch& launch) {
  std::vector<double> blocks;
  for (const BlockPlanes::Run& each : launch.blocks.runs) {
    for (std::int64_t plane = 0; plane < each.planes; ++plane) {
      for (const EqualBlocks& run : launch.blocks.kinds[each.kind])
        blocks.insert(blocks.end(), static_cast<std::size_t>(run.blocks),
                      run.iterations * launch.iteration + launch.beyond);
    }
  }
  std::reverse(blocks.begin(), blocks.end());
  std::vector<std::vector<double>> nodes(launch.nodes);
  const auto put = [&](std::vector<double>& node) {
    if (blocks.empty() || node.size() >= launch.shares.size()) return;
    node.push_back(blocks.back());
    blocks.pop_back();
  };
  for (std::size_t n = 0; n < launch.shares.size(); ++n) {
    for (std::vector<double>& node : nodes) put(node);
  }
  const auto pace = [&](const std::vector<double>& node) {
    return static_cast<double>(node.size()) * launch.shares[node.size() - 1];
  };
  double clocks = 0;
  for (;;) {
    double next = HUGE_VAL;
    for (const std::vector<double>& node : nodes) {
      if (!node.empty()) next = std::min(next, *std::min_element(node.begin(), node.end()) * pace(node));
    }
    if (next == HUGE_VAL) return clocks;
    clocks += next;
    for (std::vector<double>& node : nodes) {
      const double done = node.empty() ? 0 : next / pace(node);
      for (double& left : node) left -= done;
      std::erase_if(node, [](double left) { return left < 1e-9; });
    }
    for (std::vector<double>& node : nodes) {
      for (std::size_t n = node.size(); n < launch.shares.size(); ++n) put(node);
    }
  }
}

ResidentLaunch causal(std::int64_t rows, std::int64_t planes, std::size_t nodes, std::vector<double> shares) {
  ResidentLaunch out{{{{}}, {{0, planes}}}, nodes, 100, 30, std::move(shares)};
  for (std::int64_t row = 1; row <= rows; ++row) out.blocks.kinds[0].push_back({static_cast<double>(row), 1});
  return out;
}

}  // namespace

TEST_CASE("two blocks of one node share it until the shorter one ends") {
  const ResidentLaunch two{{{{{1, 1}, {3, 1}}}, {{0, 1}}}, 1, 100, 0, {1, 0.75}};
  CHECK(resident_clocks(two) == doctest::Approx(350));  // 150 together, then 200 alone
  const ResidentLaunch one{{{{{1, 1}, {3, 1}}}, {{0, 1}}}, 1, 100, 0, {1}};
  CHECK(resident_clocks(one) == doctest::Approx(400));
  const ResidentLaunch each{{{{{1, 1}, {3, 1}}}, {{0, 1}}}, 2, 100, 0, {1, 0.75}};
  CHECK(resident_clocks(each) == doctest::Approx(300));  // a node for each
}

TEST_CASE("a launch of causal rows takes what acting it out takes") {
  std::mt19937 random(7);
  const auto below = [&](int most) { return 1 + static_cast<std::int64_t>(random() % static_cast<unsigned>(most)); };
  for (int i = 0; i < 200; ++i) {
    std::vector<double> shares{1};
    for (std::int64_t held = below(4); held > 1; --held) shares.push_back(shares.back() * 0.8);
    const std::int64_t nodes = 2 + below(12), rows = below(3 * static_cast<int>(nodes));
    ResidentLaunch launch = causal(rows, 1, static_cast<std::size_t>(nodes), shares);
    launch.blocks.kinds.push_back({{2, 1}, {3, 1}, {static_cast<double>(rows), 1}});  // a plane of another kind between
    launch.blocks.kinds.push_back(launch.blocks.kinds[0]);
    launch.blocks.runs = {{0, 1}, {1, 1}, {2, 1}};
    for (std::vector<EqualBlocks>& plane : launch.blocks.kinds) {
      for (EqualBlocks& run : plane)
        run.iterations += static_cast<double>(below(1000000)) / 1e6;  // no two end at one clock
    }
    CAPTURE(launch.nodes);
    const double plain = acted_out(launch);
    CHECK(resident_clocks(launch) == doctest::Approx(plain).epsilon(1e-9));
  }
}

TEST_CASE("blocks whose durations have a spread end where equal ones do, and a percent more moves no end by much") {
  for (const std::size_t nodes : std::vector<std::size_t>{72, 108}) {
    double jump = 0, jump_of_equal = 0;
    double before = 0, before_of_equal = 0;
    for (int i = 0; i <= 40; ++i) {
      ResidentLaunch launch = causal(64, 8, nodes, {1, 0.78});
      launch.beyond = 30 * (1 + 0.01 * i);
      const double equal = resident_clocks(launch);
      launch.spread = 0.04;
      const double drawn = resident_clocks(launch);
      CHECK(drawn == doctest::Approx(equal).epsilon(0.06));
      if (i > 0) jump = std::max(jump, std::abs(drawn / before - 1));
      if (i > 0) jump_of_equal = std::max(jump_of_equal, std::abs(equal / before_of_equal - 1));
      before = drawn, before_of_equal = equal;
    }
    CAPTURE(nodes);
    CHECK(jump < 0.02);
    CHECK(jump_of_equal > 0.05);  // the launch of equal durations jumps
  }
}

TEST_CASE("planes before the last rounds fill every node alike") {
  for (const std::int64_t planes : {100, 333}) {
    const ResidentLaunch launch = causal(16, planes, 13, {1, 0.7});
    CHECK(resident_clocks(launch) == doctest::Approx(acted_out(launch)).epsilon(0.01));
  }
}

TEST_CASE("the longest blocks last, on nodes that hold two, take longer than their even share") {
  const ResidentLaunch launch = causal(512, 1, 108, {1, 0.78});  // 8,192 queries of eight heads by 16
  double work = 0;
  for (const EqualBlocks& run : launch.blocks.kinds[0]) work += run.iterations * launch.iteration + launch.beyond;
  const double even = 0.78 * work / 108, took = resident_clocks(launch);
  CHECK(took > 1.2 * even);
  CHECK(took < 1.5 * even);
}

}  // namespace test_resident_blocks
