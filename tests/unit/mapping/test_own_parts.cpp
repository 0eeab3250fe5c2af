// The number of parts by a kernel's own rule: compared with the libraries' rules, worked out by hand, and in a placed
// tile.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "model/base/library.hpp"
#include "model/mapping/own_parts.hpp"
#include "tests/support/mistakes.hpp"
#include "tests/unit/mapping/mapped.hpp"

namespace test_own_parts {

namespace {

using namespace napkin;
using namespace napkin::internal;

/// Returns the fewest parts, at most `most`, whose last wave is filled to 85 % of the best, by trying each.
std::int64_t by_trying(std::int64_t blocks, std::int64_t slots, std::int64_t chunks, std::int64_t most, bool distinct) {
  const auto smaller = [&](std::int64_t parts) {
    return parts == 1 || (chunks + parts - 1) / parts != (chunks + parts - 2) / (parts - 1);
  };
  const auto efficiency = [&](std::int64_t parts) {
    const double waves = static_cast<double>(blocks * parts) / static_cast<double>(slots);
    return distinct && !smaller(parts) ? 0 : waves / std::ceil(waves);
  };
  most = std::min({most, slots, chunks});
  double best = 0;
  for (std::int64_t parts = 1; parts <= most; ++parts) best = std::max(best, efficiency(parts));
  for (std::int64_t parts = 1; parts <= most; ++parts) {
    if (efficiency(parts) > 0 && efficiency(parts) >= 0.85 * best) return parts;
  }
  return 1;
}

OwnParts rule_of(const char* kernel) {
  const Mapping mapping = load_mapping(kernel, "");
  const auto level = std::find_if(mapping.levels.begin(), mapping.levels.end(),
                                  [](const LevelMapping& each) { return each.own_parts.has_value(); });
  REQUIRE(level != mapping.levels.end());
  return *level->own_parts;
}

Count parts_at(const PlacedDiagram& placed) {
  return placed.block().groups_of[static_cast<std::size_t>(placed.streamed->diagram.axis("x"))];
}

}  // namespace

TEST_CASE("TensorRT-LLM and FlashInfer cut keys as their host code does") {
  const OwnParts trt = rule_of("trtllm_decode"), infer = rule_of("flashinfer_decode");
  for (const std::int64_t nodes : {78, 108, 132, 144}) {
    for (const std::int64_t blocks : {1, 8, 16, 100, 512, 1024, 5000}) {
      for (const std::int64_t keys : {1, 127, 256, 2048, 4096, 32768, 131072}) {
        const RowsToCut rows{blocks, nodes, keys, 128};
        CAPTURE(nodes);
        CAPTURE(blocks);
        CAPTURE(keys);
        std::int64_t count = keys / 128;
        count = std::max<std::int64_t>(
            std::min<std::int64_t>(count, std::lround(std::sqrt(8.0 * static_cast<double>(count)))), 1);
        if (blocks * count > 8 * nodes) count = std::max<std::int64_t>(8 * nodes / blocks, 1);
        CHECK(own_parts(trt, rows).get() == count);
        std::int64_t chunk = 128;  // chunk that the plan's search finds, by trying each
        while (chunk < keys && blocks * ((keys + chunk - 1) / chunk) > 2 * nodes) ++chunk;
        CHECK(own_parts(infer, rows).get() >= (keys + chunk - 1) / chunk);
        CHECK((blocks * own_parts(infer, rows).get() <= 2 * nodes || own_parts(infer, rows).get() == 1));
      }
    }
  }
}

TEST_CASE("FlashInfer's plan cuts a prompt's keys where packed tiles fill less than two blocks a node") {
  CHECK(rule_of("flashinfer_fa2").least == rule_of("flashinfer_decode").least);
  const auto parts =
      [](const char* gpu) {  // 1,024 queries of eight heads: 64 tiles of 128 rows for each of two key heads
        const testing::Mapped mapped("attention", "flashinfer_fa2", gpu,
                                     {{"h", 2}, {"g", 8}, {"q", 1024}, {"x", 1024}, {"d", 128}});
        const PlacedDiagram placed = mapped.place({{"g", "8"}, {"q", "16"}, {"x", "32"}});
        CHECK(parts_at(placed) == std::max(placed.own_parts, Count(1)));
        return placed.own_parts;
      };
  CHECK(parts("a100-sxm-80") == Count(1));  // 216 slots for 128 tiles
  CHECK(parts("l40s") == Count(2));         // 284
}

TEST_CASE("FlashAttention-2 and -3 cut keys as their heuristics do") {
  const OwnParts two = rule_of("flash_attention_2_split"), three = rule_of("flash_attention_3_split");
  for (const std::int64_t nodes : {78, 108, 132, 144}) {
    for (std::int64_t blocks = 1; blocks < 300; blocks += 7) {
      for (const std::int64_t chunks : {1, 3, 4, 5, 16, 33, 128, 1000}) {
        const RowsToCut rows{blocks, nodes, chunks * 128 - 5, 128};
        const auto enough = [&](std::int64_t slots) { return 5 * blocks >= 4 * slots; };
        CAPTURE(nodes);
        CAPTURE(blocks);
        CAPTURE(chunks);
        CHECK(own_parts(two, rows).get() == (enough(2 * nodes) ? 1 : by_trying(blocks, 2 * nodes, chunks, 128, true)));
        CHECK(own_parts(three, rows).get() ==
              (enough(nodes) || chunks <= 4 ? 1 : by_trying(blocks, nodes, chunks, 128, false)));
      }
    }
  }
}

TEST_CASE("FlashAttention-4 and Composable Kernel cut keys as their host code does") {
  const OwnParts four = rule_of("flash_attention_4_split"), ck = rule_of("ck_tile_split");
  for (const std::int64_t nodes : {132, 148, 256, 304}) {
    for (std::int64_t blocks = 1; blocks < 700; blocks += 13) {
      for (const std::int64_t chunks : {1, 4, 5, 16, 33, 128, 1000}) {
        const RowsToCut rows{blocks, nodes, chunks * 128 - 5, 128};
        CAPTURE(nodes);
        CAPTURE(blocks);
        CAPTURE(chunks);
        const std::int64_t filling = std::min({nodes / blocks, std::int64_t{128}, chunks});
        CHECK(own_parts(four, rows).get() == (chunks <= 4 ? 1 : std::max(filling, std::int64_t{1})));
        CHECK(own_parts(ck, rows).get() ==
              (5 * blocks >= 4 * 2 * nodes ? 1 : by_trying(blocks, 2 * nodes, chunks, 8, true)));
      }
    }
  }
}

TEST_CASE("a rule that fills the slots makes as many parts as they hold, none of fewer keys than the least") {
  OwnParts rule;
  rule.by = OwnParts::By::fill;
  rule.blocks = 2;
  rule.least = 256;
  CHECK(own_parts(rule, {8, 100, 100000, 64}) == Count(25));  // 200 slots
  CHECK(own_parts(rule, {3, 100, 100000, 64}) == Count(66));
  CHECK(own_parts(rule, {3, 100, 1000, 64}) == Count(4));  // 256 keys each
  CHECK(own_parts(rule, {200, 100, 100000, 64}) == Count(1));
  rule.most = 16;
  CHECK(own_parts(rule, {3, 100, 100000, 64}) == Count(16));
}

TEST_CASE("a tile with num_splits=0 is placed as one with the rule's number") {
  // 8 heads of 64 rows, 132 SMs: 33 parts fill two waves; 15 parts are the first that fill 85 % of one (120 blocks).
  const testing::Mapped h100("attention", "flash_attention_3_split", "h100-sxm",
                             {{"h", 8}, {"g", 8}, {"q", 1}, {"x", 16384}, {"d", 128}});
  const testing::Text tile{{"warpgroups", "1"}, {"g", "8"}, {"q", "8"}, {"x", "128"}};
  const PlacedDiagram own = h100.place(tile);
  CHECK(own.own_parts == Count(15));
  testing::Text fixed = tile;
  fixed.emplace_back("num_splits", "15");
  const PlacedDiagram same = h100.place(fixed);
  CHECK(same.own_parts == Count(0));
  CHECK(parts_at(own) == Count(15));  // 128 chunks, 9 a part
  CHECK(parts_at(own) == parts_at(same));
  CHECK(own.blocks == same.blocks);
}

TEST_CASE("one tile after the other keeps nothing of the number before") {
  testing::Mapped h100("attention", "flash_attention_3_split", "h100-sxm",
                       {{"h", 8}, {"g", 8}, {"q", 1}, {"x", 16384}, {"d", 128}});
  PlacedDiagram placed;
  for (const char* number : {"0", "3", "0", "1", "0"}) {
    const Tile tile = h100.tile({{"warpgroups", "1"}, {"g", "8"}, {"q", "8"}, {"x", "128"}, {"num_splits", number}});
    h100.placer.place(tile, placed);
    const PlacedDiagram anew = h100.placer.place(tile);
    CHECK(placed.own_parts == anew.own_parts);
    CHECK(placed.blocks == anew.blocks);
  }
}

TEST_CASE("each sequence of a batch is cut into as many parts as the launch") {
  const Diagram diagram = load_diagram("attention");
  testing::Mapped one("attention", "flash_attention_3_split", "h100-sxm",
                      {{"b", 2}, {"h", 4}, {"g", 8}, {"q", 1}, {"x", 16384}, {"d", 128}});
  one.problem.packing = {diagram.axis("b"), diagram.axis("q"), diagram.axis("x"), {{1, 16384}, {1, 1280}}};
  const Placer placer(one.streamed, one.mapping, one.machine, one.problem);
  const PlacedDiagram placed = placer.place(one.tile({{"warpgroups", "1"}, {"g", "8"}, {"q", "8"}, {"x", "128"}}));
  REQUIRE(placed.packed.size() == 2);
  CHECK(placed.own_parts == Count(15));
  for (const PackedPart& part : placed.packed) {
    const Count chunks = ceil_div(part.problem->sizes[static_cast<std::size_t>(diagram.axis("x"))], 128);
    CHECK(parts_at(part.placed) == ceil_div(chunks, ceil_div(chunks, placed.own_parts)));
  }
}

TEST_CASE("mistakes of a rule are named") {
  const std::string text(embedded_file("kernels/attention/mappings/flash_attention_3_split.yaml").text);
  const auto refusal = [&](const std::string& from, const std::string& to) {
    return test::refusal_of(
        [&] { (void)parse_mapping(test::replaced(text, from, to), "flash_attention_3_split.yaml"); });
  };
  CHECK(refusal("enough: 0.8", "enough: 1.5").find("not a share: a number above 0, at most 1") != std::string::npos);
  CHECK(refusal("by: waves", "by: luck").find("own_parts.by") != std::string::npos);
  CHECK(refusal("{from: 0, to: 128", "{from: 1, to: 128").find("'num_splits' has no 0") != std::string::npos);
  CHECK(refusal("parts: {x: num_splits}", "parts: {x: 4}").find("no knob counts parts") != std::string::npos);
}

}  // namespace test_own_parts
