// The first free node, compared with a search of all nodes at each block, to the last digit.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "model/clock/launch/first_free.hpp"
#include "model/resource/order.hpp"
#include "tests/support/case_count.hpp"
#include "tests/support/packed_layout.hpp"

namespace test_first_free {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("blocks go to the node that is free first, idle ones in runs too, and ties to the least number") {
  std::mt19937 random(11);
  const auto any = [&](std::size_t most) { return static_cast<std::size_t>(random()) % most; };
  for (int round = 0; round < test::rounds(60); ++round) {
    const std::size_t nodes = 1 + any(150);
    const double idle = any(3) == 0 ? 230 : 0.1 * static_cast<double>(1 + any(5000));
    FirstFree fast(nodes, idle);
    std::vector<double> slow(nodes, 0.0);
    const auto first = [&] {
      return static_cast<std::size_t>(std::min_element(slow.begin(), slow.end()) - slow.begin());
    };
    for (int step = 0; step < 400; ++step) {
      const std::size_t kind = any(16);
      if (kind == 0) {
        const double share = 0.3 * static_cast<double>(any(100));
        fast.run_all(share);
        for (double& one : slow) one += share;
      } else if (kind < 8) {
        const std::size_t blocks = any(2 * nodes);
        fast.run_idle(static_cast<std::int64_t>(blocks));
        for (std::size_t b = 0; b < blocks; ++b) slow[first()] += idle;
      } else {
        REQUIRE(fast.node() == first());
        const double clocks = any(4) == 0 ? 3 * idle : 0.7 * static_cast<double>(any(40000));
        fast.run(clocks);
        slow[first()] += clocks;
      }
    }
    CHECK(fast.clocks() == slow);
  }
}

TEST_CASE("the planes of a packed launch change their sequences where its runs say") {
  std::mt19937 random(12);
  const std::int64_t lengths[] = {0, 1, 64, 200, 700, 2500, 9000};
  for (int round = 0; round < test::rounds(12); ++round) {
    std::vector<SequenceLengths> batch{{1, 3000}};
    while (batch.size() < 2 + random() % 9) {
      const SequenceLengths one{lengths[random() % 4], lengths[random() % std::size(lengths)]};
      batch.insert(batch.end(), 1 + random() % 3, one);
    }
    for (const char* kernel : {"attention_sm90", "attention_decode_sm90", "attention_sm80"}) {
      CAPTURE(kernel);
      const auto laid = test::laid_out_packed(kernel, {{"h", 3}, {"g", 2}, {"d", 128}}, batch);
      const PlacedDiagram placed = laid->place({});
      const BlockSequence sequence(placed);
      const PackedBlocks blocks(placed, sequence);
      std::int64_t plane = 0;
      for (const PackedBlocks::Run& run : blocks.runs()) {
        CHECK(run.first == plane);
        for (; plane < run.last; ++plane) CHECK(blocks.part_of_plane(plane) == run.part);
      }
      CHECK(plane == sequence.planes());
    }
  }
}

}  // namespace test_first_free
