// What the L2 has to read again, against a list of what was touched last, kept piece by piece.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <set>
#include <string>

#include "model/resource/order.hpp"
#include "model/resource/resources.hpp"
#include "model/resource/reuse.hpp"
#include "tests/support/packed_layout.hpp"
#include "tests/unit/resource/reuse_twin.hpp"

namespace test_reuse {

using namespace napkin;
using namespace napkin::internal;
using testing::ReuseCase;
using testing::ReuseTwin;

namespace {

PlacedDiagram placed(const test::LaidOut& laid, const ReuseCase& c) {
  return laid.place({{"q", std::to_string(c.tile_q)},
                     {"x", std::to_string(c.tile_x)},
                     {"warpgroups", "1"},
                     {"order", c.order},
                     {"cluster", "1"},
                     {"pingpong", "off"}});
}

test::LaidOut laid_out(const ReuseCase& c) {
  Mask mask;
  if (c.causal) mask.kind = Mask::Kind::causal;
  return {"attention_sm90", "h200-sxm", {{"b", c.b}, {"h", c.h}, {"q", c.q}, {"x", c.x}, {"d", 64}}, DType::bf16, mask};
}

}  // namespace

TEST_CASE("small launches: read again what a list of the last touched says, to the byte") {
  std::mt19937 random(11);
  const auto from = [&](std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random() % static_cast<unsigned>(most - least + 1));
  };
  int some = 0;
  for (int round = 0; round < 150; ++round) {
    const ReuseCase c{from(1, 2),
                      from(1, 4),
                      from(1, 600),
                      from(1, 256),
                      64,
                      16,
                      from(1, 9),
                      random() % 2 == 0,
                      random() % 2 == 0 ? "grid" : "persistent"};
    CAPTURE(round);
    const test::LaidOut laid = laid_out(c);
    const PlacedDiagram tile = placed(laid, c);
    const double all = static_cast<double>(transfers(tile).front().load.value.get());
    const double capacity = std::floor(all * static_cast<double>(from(5, 90)) / 100);
    const Reread found = reread(tile, {capacity, 1, 0}, Count(c.running));
    CHECK(found.bytes == doctest::Approx(ReuseTwin(c, capacity).run()));
    CHECK_FALSE(found.extrapolated);
    // A mask hides nothing but what no row sees, and the pieces are whole chunks.
    if (!c.causal || c.q >= c.x) CHECK(found.first == doctest::Approx(all));
    some += found.bytes > 0 ? 1 : 0;
  }
  CHECK(some > 40);
}

TEST_CASE("no more is read again than waves of blocks that read all they touch again") {
  std::mt19937 random(23);
  const auto from = [&](std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random() % static_cast<unsigned>(most - least + 1));
  };
  int reached = 0, below_asked = 0;
  for (int round = 0; round < 120; ++round) {
    const bool product = round % 3 == 0;
    const auto size = [&] { return from(1, 24) * (random() % 2 == 0 ? 64 : 57) * 8; };
    test::LaidOut laid =
        product
            ? test::LaidOut{"matmul_sm90", "h200-sxm", {{"a", size()}, {"b", size()}, {"c", size()}}, DType::bf16, {}}
            : test::LaidOut{
                  "attention_sm90",
                  "h200-sxm",
                  {{"b", from(1, 3)}, {"h", from(1, 5)}, {"g", from(1, 2)}, {"q", size()}, {"x", size()}, {"d", 64}},
                  DType::bf16,
                  {}};
    Tile tile;
    for (const Knob& knob : laid.mapping.knobs) tile.values.push_back(knob.domain[random() % knob.domain.size()]);
    const PlacedDiagram placed = laid.placer->place(tile);
    CAPTURE(round);
    const Count blocks(from(1, 2));
    Stated& l2 = laid.machine.levels[static_cast<std::size_t>(*laid.machine.find_level("l2"))].capacity;
    if (round % 2 == 0) l2.measured->value = 4096;  // keeps nothing
    const double most = reread_at_most(placed, blocks);
    const Reread found = reread(placed, l2_model(laid.machine), blocks_at_a_time(placed, blocks));
    CHECK(found.bytes <= most + 1e-3);
    reached += !found.extrapolated && found.bytes > 0.5 * most && most > 0 ? 1 : 0;
    below_asked += most < 0.5 * static_cast<double>(transfers(placed)[1].load.value.get()) ? 1 : 0;
  }
  CHECK(reached > 5);
  CHECK(below_asked > 20);
}

TEST_CASE("packed sequences: the same, each tile over its own sequence, the empty ones passed over") {
  std::mt19937 random(17);
  const auto from = [&](std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random() % static_cast<unsigned>(most - least + 1));
  };
  int some = 0;
  for (int round = 0; round < 100; ++round) {
    ReuseCase c{0,
                from(1, 3),
                0,
                0,
                64,
                16,
                from(1, 9),
                random() % 2 == 0,
                random() % 2 == 0 ? "grid" : "persistent",
                {{from(65, 400), from(1, 256)}}};
    for (c.b = from(2, 4); std::ssize(c.lengths) < c.b;)
      c.lengths.push_back({from(0, 3) == 0 ? 0 : from(1, 400), from(0, 3) == 0 ? 0 : from(1, 256)});
    const SequenceLengths longest = longest_of(c.lengths, "lengths");
    c.q = longest.q;
    c.x = longest.x;
    CAPTURE(round);
    CAPTURE(text_of(c.lengths));
    Mask mask;
    if (c.causal) mask.kind = Mask::Kind::causal;
    const auto laid = test::laid_out_packed("attention_sm90", {{"h", c.h}, {"d", 64}}, c.lengths, mask);
    const PlacedDiagram tile = placed(*laid, c);
    const double all = static_cast<double>(transfers(tile).front().load.value.get());
    const double capacity = std::floor(all * static_cast<double>(from(5, 90)) / 100);
    const Reread found = reread(tile, {capacity, 1, 0}, Count(c.running));
    CHECK(found.bytes == doctest::Approx(ReuseTwin(c, capacity).run()));
    some += found.bytes > 0 ? 1 : 0;
  }
  CHECK(some > 25);
}

TEST_CASE("what all SMs read is kept in every partition, what one reads in one") {
  const ReuseCase c{1, 3, 512, 256, 64, 16, 8, false, "grid"};
  const test::LaidOut laid = laid_out(c);
  const PlacedDiagram tile = placed(laid, c);
  const double head = 2.0 * 256 * 128, queries = 512 * 128.0;
  // Eight blocks of a head run together: K and V are read once by all of them whatever the size.
  CHECK(reread(tile, {head, 1, 0}, Count(8)).bytes == 0);
  // Two at a time read them again every time, unless they stay beside two tiles of Q and O.
  const double beside = head + 4 * queries / 8;
  CHECK(reread(tile, {beside, 1, 0}, Count(2)).bytes == 0);
  CHECK(reread(tile, {beside - 64 * 128, 1, 0}, Count(2)).bytes > 0);
  // Of two partitions each keeps 3/4 of what two blocks read, one or the other, and half of what one does.
  const double halves = 0.75 * head + 2 * queries / 8;
  CHECK(reread(tile, {halves, 2, 0}, Count(2)).bytes == 0);
  CHECK(reread(tile, {halves - 64 * 128, 2, 0}, Count(2)).bytes > 0);
}

TEST_CASE("the chance that a line is gone: lines thrown into sets") {
  constexpr int sets = 4096, ways = 16;
  const L2Model l2{sets * ways, 1, ways};
  std::mt19937 random(3);
  double last = 0;
  for (const double others : {0.0, 0.3, 0.6, 0.9, 1.0, 1.1, 1.5, 3.0}) {
    CAPTURE(others);
    std::vector<int> in_set(sets, 0);
    const int lines = static_cast<int>(others * sets * ways);
    for (int i = 0; i < lines; ++i) ++in_set[random() % sets];
    const auto full = std::count_if(in_set.begin(), in_set.end(), [&](int n) { return n >= ways; });
    const double chance = chance_gone(l2, 1, lines);
    CHECK(std::fabs(chance - static_cast<double>(full) / sets) < 0.03);
    CHECK(chance >= last);
    last = chance;
  }
  CHECK(chance_gone({100, 1, 0}, 10, 90) == 0);
  CHECK(chance_gone({100, 1, 0}, 10, 91) == 1);
  CHECK(chance_gone({}, 10, 1e18) == 0);
}

TEST_CASE("a launch too long to be acted out goes on as it began") {
  // Each of 16 tiles of a head alone, with a cache that does not hold a head: all but the first read it again.
  const ReuseCase c{64, 64, 1024, 2048, 64, 64, 1, false, "grid"};
  const test::LaidOut laid = laid_out(c);
  const Reread found = reread(placed(laid, c), {1 << 16, 1, 0}, Count(1));
  CHECK(found.extrapolated);
  CHECK(found.bytes == doctest::Approx(15.0 * 64 * 64 * 2 * 2048 * 128).epsilon(0.01));
}

TEST_CASE("query's level below device memory delivers what is read again") {
  const test::LaidOut laid("attention_sm90", "h200-sxm", {{"b", 2}, {"h", 8}, {"q", 8192}, {"x", 8192}, {"d", 256}},
                           DType::bf16);
  const PlacedDiagram tile =
      laid.place({{"q", "128"}, {"x", "80"}, {"warpgroups", "2"}, {"cluster", "1"}, {"order", "persistent"}});
  const LevelTransfer l2 = transfers(tile, Rereads::counted).front();
  CHECK(transfers(tile).front().delivered == l2.load);
  CHECK(l2.delivered > l2.load);
  CHECK(l2.delivered == l2.load + reread_bytes(tile, Count(1)));
}

namespace {

/// The workload of "Flash Attention from Scratch": 16 sequences of 4096, 16 heads of 128, tiles of 64 x 64.
LevelTransfer from_scratch(const char* gpu, const char* order, LevelTransfer* below = nullptr) {
  const test::LaidOut laid("flash_from_scratch", gpu, {{"b", 16}, {"h", 16}, {"q", 4096}, {"x", 4096}, {"d", 128}},
                           DType::bf16);
  const auto moved = transfers(laid.place({{"order", order}}), Rereads::spread);
  if (below != nullptr) *below = moved[1];
  return moved[0];
}

}  // namespace

TEST_CASE("the grid's order makes or breaks the reuse in the L2: 98 % and 2 % on an RTX 3090") {
  LevelTransfer below;
  const LevelTransfer fastest = from_scratch("rtx-3090", "queries_fastest", &below);
  // 64 blocks of a head share its K and V, and all stores stay: 1 - (kv / 64 + q) / (kv + 2 q), kv = 2 x 4096, q = 64.
  // A wave of 164 blocks cuts heads: those are read twice. Their author counts 98 %.
  CHECK(hit_rate(below, fastest.delivered) == doctest::Approx(0.977).epsilon(0.01));
  REQUIRE(fastest.delivered_apart);
  CHECK(hit_rate(below, *fastest.delivered_apart) == doctest::Approx(0.977).epsilon(0.01));
  // No two of 164 blocks in a row share anything: 1 - (kv + q) / (kv + 2 q).
  const LevelTransfer slowest = from_scratch("rtx-3090", "queries_slowest", &below);
  CHECK(hit_rate(below, slowest.delivered) == doctest::Approx(0.0076).epsilon(0.02));
  CHECK(slowest.delivered == below.load);
  // Ten or eleven blocks of each of 16 heads run together: in step they share it, out of step 2 MiB a head are gone
  // before the next one comes. Their author counts 2 %.
  const LevelTransfer heads = from_scratch("rtx-3090", "heads_fastest", &below);
  CHECK(hit_rate(below, heads.delivered) == doctest::Approx(0.896).epsilon(0.02));
  REQUIRE(heads.delivered_apart);
  CHECK(hit_rate(below, *heads.delivered_apart) == doctest::Approx(0.02).epsilon(0.2));
}

TEST_CASE("what device memory sends is never more than the blocks ask for, in any order, in step or not") {
  std::mt19937 random(23);
  const auto from = [&](std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random() % static_cast<unsigned>(most - least + 1));
  };
  for (int round = 0; round < 60; ++round) {
    const test::Shape shape{
        {"b", from(1, 3)}, {"h", from(1, 70)}, {"q", from(1, 9000)}, {"x", from(1, 9000)}, {"d", 128}};
    Mask mask;
    if (random() % 2 == 0) mask.kind = Mask::Kind::causal;
    const char* orders[] = {"queries_fastest", "heads_fastest", "queries_slowest"};
    const test::LaidOut laid("flash_from_scratch", random() % 2 == 0 ? "rtx-3090" : "a100-sxm-80", shape, DType::bf16,
                             mask);
    const auto moved = transfers(laid.place({{"order", orders[random() % 3]}}), Rereads::spread);
    CAPTURE(round);
    CHECK(moved[0].delivered >= moved[0].load);
    CHECK(moved[0].delivered <= std::max(moved[0].load, moved[1].load));
    REQUIRE(moved[0].delivered_apart);
    CHECK(*moved[0].delivered_apart >= moved[0].delivered);
    CHECK(*moved[0].delivered_apart <= std::max(moved[0].load, moved[1].load));
  }
}

TEST_CASE("launches asked for in turn read again what each reads by itself, whichever share a simulation") {
  std::mt19937 random(39);
  int again = 0;
  for (int round = 0; round < 12; ++round) {
    Mask mask;
    if (round % 3 != 0) mask.kind = Mask::Kind::causal;
    const std::int64_t length = 4096 + 64 * static_cast<std::int64_t>(random() % 128);
    const test::LaidOut laid("attention_sm90", "h200-sxm", {{"h", 24}, {"q", length}, {"x", length}, {"d", 64}},
                             DType::bf16, mask);
    KnownRereads known;
    for (int x = 48; x <= 256; x += 16) {
      const PlacedDiagram tile = laid.place({{"q", "128"}, {"x", std::to_string(x)}, {"order", "grid"}});
      const double own = real(reread_bytes(tile, Count(1)).value);
      CAPTURE(x);
      CHECK(known.of(tile, Count(1), [](double) { return false; }) == own);
      again += own > 0 ? 1 : 0;
    }
  }
  CHECK(again > 12);
}

TEST_CASE("an order that lists the grid as the mapping does permutes nothing, nor do axes of one group") {
  const auto permuted = [](std::int64_t heads, const char* order) {
    const test::LaidOut laid("flash_from_scratch", "rtx-3090", {{"h", heads}, {"q", 4096}, {"x", 4096}, {"d", 128}},
                             DType::bf16);
    return permutes_axes(laid.place({{"order", order}}));
  };
  CHECK_FALSE(permuted(16, "queries_fastest"));
  CHECK(permuted(16, "heads_fastest"));
  CHECK(permuted(16, "queries_slowest"));
  CHECK_FALSE(permuted(1, "heads_fastest"));
  CHECK_FALSE(permuted(1, "queries_slowest"));
}

TEST_CASE("a word of the order knob permutes the grid's axes, the last the fastest") {
  const test::LaidOut laid("flash_from_scratch", "rtx-3090", {{"b", 2}, {"h", 3}, {"q", 256}, {"x", 64}, {"d", 128}},
                           DType::bf16);
  const auto name_of_axis = [&](const BlockSequence& sequence, std::size_t i) {
    return laid.streamed.diagram.axes[static_cast<std::size_t>(sequence.axes()[i])].name;
  };
  const std::pair<const char*, const char*> orders[] = {
      {"queries_fastest", "b h g q "}, {"heads_fastest", "b q h g "}, {"queries_slowest", "q b h g "}};
  for (const auto& one : orders) {
    const BlockSequence sequence(laid.place({{"order", one.first}}));
    std::string axes;
    for (std::size_t i = 0; i < sequence.axes().size(); ++i) axes += name_of_axis(sequence, i) + " ";
    CHECK(axes == one.second);
    CHECK(sequence.size() == 2 * 3 * 4);
    std::set<std::vector<std::int64_t>> blocks;
    std::vector<std::int64_t> at;
    for (std::int64_t i = 0; i < sequence.size(); ++i) {
      sequence.coordinates(sequence.at(i), at);
      blocks.insert(at);
    }
    CHECK(blocks.size() == 24);  // each block once
  }
}

TEST_CASE("blocks in a row along a Hilbert curve touch so many more rows and planes than a square of them") {
  for (const std::int64_t size : {2048, 4096, 8192}) {  // 32, 64, 128 tiles a side
    const test::LaidOut laid("matmul_sm90", "h200-sxm", {{"a", size}, {"b", size}, {"c", size}}, DType::bf16);
    const BlockSequence sequence(laid.place({{"a", "64"},
                                             {"c", "64"},
                                             {"b", "64"},
                                             {"warpgroups", "1"},
                                             {"stages", "3"},
                                             {"cluster", "1"},
                                             {"order", "hilbert"}}));
    for (const std::int64_t running : {33, 66, 132}) {
      double touched = 0;
      std::int64_t windows = 0;
      for (std::int64_t first = 0; first + running <= sequence.size(); first += 7, ++windows) {
        std::set<std::int64_t> rows, planes;
        for (std::int64_t i = first; i < first + running; ++i) {
          rows.insert(sequence.at(i).row);
          planes.insert(sequence.at(i).plane);
        }
        touched += static_cast<double>(rows.size() + planes.size()) / 2;
      }
      CHECK(touched / static_cast<double>(windows) / std::sqrt(static_cast<double>(running)) ==
            doctest::Approx(hilbert_unaligned).epsilon(0.006));
    }
  }
}

TEST_CASE("waves say about what acting a product's launch out says, in every order") {
  struct Tile {
    const char *a, *c, *cluster;
  };
  double off = 0;
  int tiles = 0;
  for (const std::int64_t size : {4096, 6144, 8192}) {
    const test::LaidOut laid("matmul_sm90", "h200-sxm", {{"a", size}, {"b", size}, {"c", size}}, DType::bf16);
    for (const char* order : {"grid", "grouped", "hilbert"}) {
      for (const Tile& each : {Tile{"128", "256", "1"},
                               {"128", "128", "2"},
                               {"256", "64", "1"},
                               {"256", "192", "2"},
                               {"64", "256", "1"}}) {
        const PlacedDiagram tile = laid.place({{"a", each.a},
                                               {"c", each.c},
                                               {"b", "64"},
                                               {"warpgroups", "1"},
                                               {"stages", "3"},
                                               {"cluster", each.cluster},
                                               {"order", order}});
        const double acted =
            static_cast<double>(reread_bytes(tile, Count(1)).value.get()) + 4.0 * static_cast<double>(size * size);
        const double waves = reread_by_waves(tile) + 4.0 * static_cast<double>(size * size);
        CAPTURE(size);
        CAPTURE(order);
        CAPTURE(each.a);
        CAPTURE(each.c);
        CHECK(waves == doctest::Approx(acted).epsilon(0.3));
        off += std::abs(waves / acted - 1);
        ++tiles;
      }
    }
  }
  CHECK(off / tiles < 0.075);
}

}  // namespace test_reuse
