// Split-K and stream-K: their transfers equal a count over all blocks in which every part of a result is an output;
// fewer rows of a product take no longer.

#include <doctest/doctest.h>
#include <algorithm>

#include "model/base/file.hpp"
#include "model/clock/prediction.hpp"
#include "model/clock/roofline/combine_cost.hpp"
#include "model/resource/order.hpp"
#include "model/resource/resources.hpp"
#include "tests/golden/cli.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_split_k {

namespace {

using namespace napkin;
using namespace napkin::internal;
using testing::Mapped;
using i64 = std::int64_t;

i64 up(i64 a, i64 b) { return (a + b - 1) / b; }

struct Shape {
  i64 a, b, c;
};

/// The bytes into the blocks and out of them, counted block by block.
struct Moved {
  i64 loads = 0, stores = 0, blocks = 0;
};

Moved counted(const Shape& s, i64 rows, i64 columns, i64 chunk, i64 parts) {
  const i64 part = parts == 1 ? s.b : up(up(s.b, parts), chunk) * chunk;
  Moved out;
  for (i64 i = 0; i < s.a; i += rows) {
    for (i64 j = 0; j < s.c; j += columns) {
      for (i64 first = 0; first < s.b; first += part) {
        const i64 height = std::min(rows, s.a - i), width = std::min(columns, s.c - j),
                  depth = std::min(part, s.b - first);
        out.loads += (height + width) * depth * 2;
        out.stores += height * width * (parts == 1 ? 2 : 4);
        ++out.blocks;
      }
    }
  }
  return out;
}

const LevelTransfer& into_blocks(const std::vector<LevelTransfer>& all, const PlacedDiagram& placed) {
  return *std::find_if(all.begin(), all.end(),
                       [&](const LevelTransfer& one) { return one.level == placed.block().level; });
}

}  // namespace

TEST_CASE("split-K: parts are outputs of their blocks, in fp32, and a second launch makes them one") {
  for (const Shape& s : {Shape{128, 4096, 4096}, Shape{16, 4096, 512}, Shape{300, 1000, 200}}) {
    const Mapped mapped("matmul", "vendor_matmul_sm80", "a100-sxm-80", {{"a", s.a}, {"b", s.b}, {"c", s.c}});
    for (const i64 parts : std::vector<i64>{1, 2, 3, 8, 16}) {
      CAPTURE(s.a);
      CAPTURE(parts);
      const PlacedDiagram placed = mapped.place({{"split", std::to_string(parts)}, {"b", "32"}});
      const Moved want = counted(s, 128, 128, 32, parts);
      CHECK(placed.blocks == Count(want.blocks));
      const auto moved = transfers(placed);
      CHECK(into_blocks(moved, placed).load.value == Count(want.loads));
      CHECK(into_blocks(moved, placed).store.value == Count(want.stores));
      const auto combine = combine_moved(placed);
      REQUIRE(combine);
      CHECK(combine->parts == Count(want.blocks / (up(s.a, 128) * up(s.c, 128))));
      CHECK(combine->loaded.value == Count(combine->parts > Count(1) ? want.stores : 0));
      CHECK(combine->whole.value == Count(combine->parts > Count(1) ? s.a * s.c * 2 : 0));
    }
  }
}

TEST_CASE("the last block: parts move as by a second launch, and the busiest node waits for numbers and reads") {
  for (const Shape& s :
       {Shape{16, 4096, 4096}, Shape{128, 14336, 4096}, Shape{300, 1000, 200}, Shape{2048, 512, 8192}}) {
    const Mapped mapped("matmul", "matmul_sm90", "h200-sxm", {{"a", s.a}, {"b", s.b}, {"c", s.c}});
    for (const i64 parts : std::vector<i64>{1, 2, 3, 8}) {
      CAPTURE(s.a);
      CAPTURE(parts);
      const PlacedDiagram placed = mapped.place({{"a", "64"},
                                                 {"c", "128"},
                                                 {"b", "64"},
                                                 {"warpgroups", "1"},
                                                 {"cluster", "1"},
                                                 {"order", "grid"},
                                                 {"split", std::to_string(parts)}});
      const Moved want = counted(s, 64, 128, 64, parts);
      const i64 results = up(s.a, 64) * up(s.c, 128), nodes = 132;
      CHECK(placed.blocks == Count(want.blocks));
      const auto moved = transfers(placed);
      CHECK(into_blocks(moved, placed).load.value == Count(want.loads));
      CHECK(into_blocks(moved, placed).store.value == Count(want.stores));
      const auto combine = combine_moved(placed);
      REQUIRE(combine);
      const bool apart = want.blocks > results;
      CHECK(combine->loaded.value == Count(apart ? want.stores : 0));
      CHECK(combine->whole.value == Count(apart ? s.a * s.c * 2 : 0));
      const Pipe& l2 = *mapped.machine.find_pipe("l2");
      // Fewer results than nodes share what the L2 gives to all, up to what it gives to one.
      const auto readers = static_cast<double>(results);
      const double all = l2.per_node_clock.best().value, one = mapped.machine.constant("l2_bandwidth_one_sm"),
                   share = mapped.machine.constant("l2_bandwidth_total") / readers,
                   rate = results < nodes ? std::max(std::min(share, one), all) : all;
      const double latency = l2.latency->value,
                   each = static_cast<double>(want.stores + s.a * s.c * 2) / static_cast<double>(results);
      const double clocks = 2 * latency * static_cast<double>(up(want.blocks, nodes)) +
                            static_cast<double>(up(results, nodes)) * (latency + each / rate);
      CHECK(synchronisation(placed, Hertz(1e9)).clocks == doctest::Approx(apart ? clocks : 0));
    }
  }
}

TEST_CASE("parts of one leave a product as it is without parts") {
  std::string text = read_file(std::string(NAPKIN_SOURCE_DIR) + "/kernels/matmul/matmul_sm90.yaml", 1 << 20, "test");
  const auto drop = [&](const std::string& from, const std::string& to) {
    REQUIRE(text.find(from) != std::string::npos);
    text.replace(text.find(from), from.size(), to);
  };
  drop("group: [b, c, a], stream: [b], parts: {b: split}", "group: [c, a], stream: [b]");
  drop("combine: {by: last}", "");
  const testing::Given shape{{"a", 4096}, {"b", 2048}, {"c", 3000}};
  const Mapped with("matmul", "matmul_sm90", "h200-sxm", shape);
  const Mapped without(load_diagram("matmul"), parse_mapping(text, "matmul_sm90.yaml"), load_machine("h200-sxm", ""),
                       shape);
  for (const char* order : {"grid", "grouped", "hilbert"}) {
    for (const char* cluster : {"1", "2"}) {
      const testing::Text tile{{"a", "128"}, {"stages", "3"}, {"order", order}, {"cluster", cluster}};
      const PlacedDiagram a = with.place(tile), b = without.place(tile);
      CHECK(predict(a).time == predict(b).time);
      const auto moved_a = transfers(a, Rereads::counted), moved_b = transfers(b, Rereads::counted);
      REQUIRE(moved_a.size() == moved_b.size());
      for (std::size_t i = 0; i < moved_a.size(); ++i) {
        CHECK(moved_a[i].load == moved_b[i].load);
        CHECK(moved_a[i].store == moved_b[i].store);
        CHECK(moved_a[i].delivered == moved_b[i].delivered);
        CHECK(moved_a[i].transfer_per_group == moved_b[i].transfer_per_group);
      }
    }
  }
}

TEST_CASE("B of e4m3 lies with its contracted axis inside: boxes are rows of it") {
  // One block of 100 rows and 70 columns, b = 144: chunks of 128 bytes in boxes of 128 rows of A and 96 of B.
  const Mapped mapped("matmul", "matmul_fp8_sm90", "h200-sxm", {{"a", 100}, {"b", 144}, {"c", 70}}, {}, DType::e4m3);
  const PlacedDiagram placed = mapped.place({{"a", "128"}, {"c", "96"}, {"b", "128"}, {"cluster", "1"}});
  for (const Crossing& c : placed.crossings) {
    if (c.store || c.array != mapped.streamed.diagram.find_array("B")) continue;
    CHECK(placed.axes_of(c).back() == mapped.streamed.diagram.axis("b"));
  }
  CHECK(into_blocks(transfers(placed), placed).load.value == Count(100 * 144 + 70 * 144));
}

TEST_CASE("stream-K: a part more for every share that ends within a tile, up and down") {
  for (const Shape& s : {Shape{128, 4096, 4096}, Shape{1536, 4096, 1536}, Shape{2176, 2048, 4096}}) {
    const Mapped mapped("matmul", "vendor_matmul_sm80", "a100-sxm-80", {{"a", s.a}, {"b", s.b}, {"c", s.c}});
    const PlacedDiagram whole = mapped.place({{"order", "grouped"}}), even = mapped.place({{"order", "even"}});
    const i64 tiles = up(s.a, 128) * up(s.c, 128), each = s.b / 32, nodes = 108;
    const i64 share = up(tiles * each, nodes);
    i64 pieces = 0;
    for (i64 first = 0; first < tiles * each; first += share) {
      for (i64 at = first; at < std::min(first + share, tiles * each); at = (at / each + 1) * each) ++pieces;
    }
    CHECK(cut_tiles(whole) == Count(0));
    CHECK(cut_tiles(even) == Count(pieces - tiles));
    const auto a = transfers(whole), b = transfers(even);
    const i64 parts = (pieces - tiles) * 128 * 128 * 4;
    CHECK(into_blocks(b, even).load.value - into_blocks(a, whole).load.value == Count(parts));
    CHECK(into_blocks(b, even).store.value - into_blocks(a, whole).store.value == Count(parts));
    CHECK(cut_bytes(even).value == Count(parts));
  }
}

TEST_CASE("fewer rows take no longer, and parts are worth it") {
  for (const char* kernel : {"vendor_matmul_sm90 --gpu h200-sxm", "vendor_matmul_sm80 --gpu a100-sxm-80"}) {
    double before = 0;
    for (const int rows : {16, 32, 64, 128}) {
      CAPTURE(kernel);
      CAPTURE(rows);
      const std::string ask =
          "select matmul --json --shape a=" + std::to_string(rows) + ",b=4096,c=4096 --kernel " + kernel;
      const auto run = cli::napkin(ask);
      REQUIRE_MESSAGE(run.code == 0, run.err);
      const double time = run.json()["predicted"]["time"].get<double>();
      CHECK(time >= before * 0.998);  // the clock that a launch of fewer nodes holds is a little higher
      before = time;
      // With 16 to 64 rows Hopper's tiles leave nodes idle, so that a second launch pays off.
      const auto whole = cli::napkin(ask + " --tile split=1,order=grouped").json()["predicted"]["time"].get<double>();
      CHECK(whole >= time);
      if (rows <= 64 && std::string(kernel).starts_with("vendor_matmul_sm90")) CHECK(whole > 1.02 * time);
    }
  }
}

}  // namespace test_split_k
