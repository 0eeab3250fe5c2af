// Several caches above the blocks: shared data move into each cache with blocks that need them, compared with a walk
// over the blocks.

#include <doctest/doctest.h>

#include <array>
#include <set>
#include <utility>
#include <vector>

#include "model/resource/crossing_counts.hpp"
#include "model/resource/resources.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_side_caches {

namespace {

using namespace napkin;
using namespace napkin::internal;
using testing::Mapped;

LevelTransfer into_l2(const PlacedDiagram& placed) {
  for (const LevelTransfer& moved : transfers(placed)) {
    if (placed.machine->levels[static_cast<std::size_t>(moved.level)].name == "l2") return moved;
  }
  return {};
}

/// Assigns the blocks one by one, and returns the pairs of a piece and a cache that reads it, over the number of
/// pieces.
double by_walking(const PlacedDiagram& placed, const Crossing& crossing, std::int64_t caches) {
  const BlockSequence blocks(placed);
  const std::vector<AxisId>& axes = placed.axes_of(crossing);
  std::set<std::vector<std::int64_t>> pieces;
  std::set<std::pair<std::vector<std::int64_t>, std::int64_t>> read;
  std::vector<std::int64_t> at(placed.block().groups_of.size());
  for (std::int64_t i = 0; i < blocks.size(); ++i) {
    blocks.coordinates(blocks.at(i), at);
    std::vector<std::int64_t> piece;
    for (const AxisId axis : axes) piece.push_back(at[static_cast<std::size_t>(axis)]);
    pieces.insert(piece);
    read.insert({piece, i % caches});
  }
  return static_cast<double>(read.size()) / static_cast<double>(pieces.size());
}

}  // namespace

TEST_CASE("a head's keys cross into all eight L2s where its rows are dealt to all of them") {
  // 8 heads of 16,384 rows in blocks of 128: Q once, K and V of 4 MiB a head eight times.
  const Mapped mi300x("attention", "ck_tile", "mi300x", {{"h", 8}, {"q", 16384}, {"x", 16384}, {"d", 128}});
  const LevelTransfer moved = into_l2(mi300x.place({{"q", "128"}, {"x", "128"}}));
  const std::int64_t array = std::int64_t{2} * 8 * 16384 * 128;
  CHECK(moved.load.value == Count(array + 2 * 8 * array));
  CHECK(moved.store.value == Count(array));
  CHECK(moved.delivered.value == moved.load.value);
  // A single row of blocks a head: eight heads, one a die.
  const Mapped few("attention", "ck_tile", "mi300x", {{"h", 8}, {"q", 128}, {"x", 16384}, {"d", 128}});
  CHECK(into_l2(few.place({{"q", "128"}, {"x", "128"}})).load.value ==
        Count(std::int64_t{2} * 8 * 128 * (128 + 2 * 16384)));
}

TEST_CASE("one L2 for all reads everything once") {
  const Mapped h100("attention", "flash_attention_3", "h100-sxm", {{"h", 8}, {"q", 1024}, {"x", 1024}, {"d", 128}});
  CHECK(into_l2(h100.place({{"warpgroups", "2"}, {"q", "128"}})).load.value ==
        Count(std::int64_t{3} * 2 * 8 * 1024 * 128));
}

TEST_CASE("dies that read a piece, as a walk of the blocks finds them") {
  for (const auto& [b, h, g, q] : std::vector<std::array<std::int64_t, 4>>{
           {1, 1, 1, 1000}, {1, 3, 1, 200}, {2, 3, 4, 200}, {3, 8, 2, 128}, {2, 5, 8, 384}, {1, 4, 6, 2048}}) {
    const Mapped m("attention", "ck_tile", "mi300x", {{"b", b}, {"h", h}, {"g", g}, {"q", q}, {"x", 256}, {"d", 128}});
    const PlacedDiagram placed = m.place({{"q", "128"}, {"x", "128"}});
    const PlacedLevel* l2 = placed.find_level(m.machine.level("l2"));
    REQUIRE(l2 != nullptr);
    for (const Crossing& crossing : placed.crossings) {
      if (crossing.into != l2->level || crossing.store) continue;
      const std::array sizes{h, g, q};
      CAPTURE(sizes[0]);
      CAPTURE(sizes[1]);
      CAPTURE(sizes[2]);
      CHECK(real(caches_that_read(placed, *l2, crossing)) == by_walking(placed, crossing, 8));
    }
  }
}

}  // namespace test_side_caches
