// Constraints by name, with the amounts that are needed and available.
#include <doctest/doctest.h>

#include <algorithm>

#include "solver/space/constraints.hpp"
#include "solver/space/enumerate.hpp"
#include "solver/space/granularity.hpp"
#include "tests/unit/select/case.hpp"

namespace test_constraints {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::Case;
using napkin::internal::testing::Shape;

namespace {

const Shape shape{{"b", 2}, {"h", 16}, {"q", 8192}, {"x", 8192}, {"d", 128}};

std::vector<Violation> broken(const Case& c, const Shape& tile) {
  const Placer placer(c.streamed, c.mapping, c.machine, c.problem);
  const PlacedDiagram placed = placer.place(c.tile(tile));
  return violations(placed, plan(placed));
}

const Violation* find(const std::vector<Violation>& all, const std::string& name) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const Violation& v) { return v.constraint == name; });
  return at == all.end() ? nullptr : &*at;
}

Case attention(const Shape& s = shape, DType dtype = DType::bf16, const Mask& mask = {}) {
  return Case("attention_sm90", "h200-sxm", s, mask, dtype);
}

}  // namespace

TEST_CASE("the tile that experts ship is legal") {
  CHECK(broken(attention(), {{"q", 128}, {"x", 176}, {"q_stages", 1}}).empty());
}

TEST_CASE("each constraint says its name, what is needed and what there is") {
  const Case c = attention();
  SUBCASE("relation") {
    const auto all = broken(c, {{"q", 64}, {"x", 128}});
    REQUIRE(find(all, "rows"));
    CHECK(find(all, "rows")->needed == 64);
    CHECK(find(all, "rows")->available == 128);
  }
  SUBCASE("granularity") {
    const auto all = broken(c, {{"x", 100}});
    REQUIRE(find(all, "granularity of x"));
    CHECK(find(all, "granularity of x")->needed == 16);
    CHECK(find(all, "granularity of x")->available == 100);
  }
  SUBCASE("shared memory and registers") {
    const auto all = broken(c, {{"x", 256}, {"stages", 3}});
    REQUIRE(find(all, "shared memory"));
    CHECK(find(all, "shared memory")->available == 232448);
    CHECK(find(all, "shared memory")->needed > 232448);
    REQUIRE(find(all, "registers"));
    CHECK(find(all, "registers")->needed > find(all, "registers")->available);
  }
  SUBCASE("packing: no more heads than share a key head") {
    const auto all = broken(c, {{"g", 2}, {"q", 64}, {"x", 128}});
    REQUIRE(find(all, "packing of g"));
    CHECK(find(all, "packing of g")->needed == 2);
    CHECK(find(all, "packing of g")->available == 1);
  }
  SUBCASE("threads") {
    const auto all = broken(c, {{"warpgroups", 9}, {"q", 576}, {"x", 16}});
    REQUIRE(find(all, "threads"));
    CHECK(find(all, "threads")->needed == 1280);
    CHECK(find(all, "threads")->available == 1024);
  }
  SUBCASE("cluster divides the blocks along its axis") {
    const Case odd = attention({{"b", 1}, {"h", 1}, {"q", 128 * 3}, {"x", 256}, {"d", 128}});
    const auto all = broken(odd, {{"x", 128}, {"cluster", 2}});
    REQUIRE(find(all, "cluster"));
    CHECK(find(all, "cluster")->available == 3);
  }
  SUBCASE("a kernel that rounds its grid up launches blocks without rows") {
    const Case odd("matmul_sm90", "h200-sxm", {{"a", 128 * 3}, {"b", 256}, {"c", 256}}, {}, DType::bf16);
    const Shape tile{{"a", 128}, {"c", 128}, {"cluster", 2}};
    CHECK(broken(odd, tile).empty());
    CHECK(Placer(odd.streamed, odd.mapping, odd.machine, odd.problem).place(odd.tile(tile)).blocks == Count(4 * 2));
  }
  SUBCASE("FlashAttention-4 takes two SMs for more than two tiles of heads of 128") {
    const auto pairs = [](std::int64_t q, std::int64_t d, std::int64_t dv) {
      const Case asked("flash_attention_4", "b200", {{"b", 1}, {"h", 1}, {"q", q}, {"x", 512}, {"d", d}, {"dv", dv}},
                       {}, DType::bf16);
      return broken(asked, {{"warpgroups", 2}, {"q", 256}, {"x", 128}, {"sms", 2}, {"k_stages", 2}, {"v_stages", 1}});
    };
    CHECK(pairs(3 * 256, 128, 128).empty());  // one SM of the last two has no rows
    REQUIRE(find(pairs(256, 128, 128), "rows of two SMs"));
    CHECK_FALSE(find(pairs(257, 128, 128), "rows of two SMs"));
    CHECK(find(pairs(512, 64, 128), "heads of two SMs"));
    CHECK(find(pairs(512, 128, 64), "results of two SMs"));
    CHECK(pairs(512, 192, 128).empty());
  }
  SUBCASE("blocks that share keys by multicast visit the same ones") {
    const Shape even{{"b", 1}, {"h", 1}, {"q", 512}, {"x", 256}, {"d", 128}};
    const Mask causal{Mask::Kind::causal, 0, 0};
    const auto all = broken(attention(even, DType::bf16, causal), {{"x", 128}, {"cluster", 2}});
    REQUIRE(find(all, "cluster mask"));
    CHECK(find(all, "cluster mask")->needed == 2);
    CHECK_FALSE(find(broken(attention(even), {{"x", 128}, {"cluster", 2}}), "cluster mask"));
    CHECK_FALSE(find(broken(attention(even, DType::bf16, causal), {{"x", 128}, {"cluster", 1}}), "cluster mask"));
  }
  SUBCASE("pingpong takes two warpgroups") { CHECK(find(broken(c, {{"warpgroups", 1}, {"q", 64}}), "pingpong")); }
}

TEST_CASE("the question alone can rule a mapping out") {
  Shape odd = shape;
  odd.back().second = 264;
  const auto size = broken(attention(odd), {{"x", 64}});
  REQUIRE(find(size, "size of d"));
  CHECK(find(size, "size of d")->needed == 264);
  CHECK(find(broken(attention(shape, DType::e4m3), {{"x", 128}}), "dtype"));
}

TEST_CASE("several divisors: their least common multiple, with the list of causes (errata P4)") {
  const Case c = attention();
  const auto all = granularities(c.streamed, c.mapping, c.machine, c.problem);
  const AxisId x = c.streamed.diagram.axis("x");
  const auto at = std::find_if(all.begin(), all.end(), [&](const Granularity& g) { return g.axis == x; });
  REQUIRE(at != all.end());
  CHECK(at->divisor == Count(16));  // S: columns in eights; O: depth of 32 bytes
  REQUIRE(at->causes.size() == 2);
  CHECK(at->causes[0].cause == "wgmma n of S");
  CHECK(at->causes[0].divisor == Count(8));
  CHECK(at->causes[1].cause == "wgmma k of O");
  CHECK(at->causes[1].divisor == Count(16));
}

TEST_CASE("8-bit inputs: a depth of 32 bytes is 32 elements") {
  const Case c("flash_attention_3_fp8", "h200-sxm", shape, {}, DType::e4m3);
  for (const Granularity& g : granularities(c.streamed, c.mapping, c.machine, c.problem)) {
    if (g.axis == c.streamed.diagram.axis("x")) CHECK(g.divisor == Count(32));
  }
}

TEST_CASE("a space leaves out what only wastes") {
  const auto domain = [](const Case& c, const std::string& knob) {
    return space_of(c.setup()).domains[static_cast<std::size_t>(*c.mapping.find_knob(knob))];
  };
  const Case small = attention({{"b", 1}, {"h", 1}, {"g", 3}, {"q", 1}, {"x", 100}, {"d", 128}});
  CHECK(domain(small, "g") == std::vector<std::int64_t>{1, 2});
  const std::vector<std::int64_t> x = domain(small, "x");
  CHECK(*std::max_element(x.begin(), x.end()) == 112);  // 112 is the smallest that covers 100
  CHECK(domain(small, "q").size() ==
        small.mapping.knobs[static_cast<std::size_t>(*small.mapping.find_knob("q"))].domain.size());
  const Case one = attention();
  CHECK(domain(one, "g") == std::vector<std::int64_t>{1});
}

TEST_CASE("a tile's rank is its place in the order of preference") {
  const Case c = attention();
  const Space space = space_of(c.setup());
  CHECK(space.tile(0).values == c.tile({{"x", 256}}).values);
  Tile last = space.tile(space.candidates.get() - 1);
  for (std::size_t k = 0; k < last.values.size(); ++k) CHECK(last.values[k] == space.domains[k].back());
}

// Tiles that were legal and spilled when they were compiled, by 8 to 364 bytes.
TEST_CASE("attention_sm80: tiles that spill are rejected") {
  const auto rejected = [](std::int64_t d, const Shape& tile, const std::string& constraint) {
    const Case c("attention_sm80", "h200-sxm", {{"h", 16}, {"q", 512}, {"x", 512}, {"d", d}});
    CAPTURE(d);
    CAPTURE(constraint);
    CHECK(find(broken(c, tile), constraint));
  };
  rejected(128, {{"q", 16}, {"x", 112}, {"warps", 1}, {"stages", 2}}, "copies of K");
  rejected(64, {{"q", 16}, {"x", 256}, {"warps", 1}, {"stages", 1}}, "copies of V");
  rejected(96, {{"q", 256}, {"x", 96}, {"warps", 8}, {"stages", 2}}, "registers");
  rejected(128, {{"q", 128}, {"x", 208}, {"warps", 8}, {"stages", 1}, {"q_in", 1}}, "registers");
  // the compiler keeps S in local memory, which it does not report as a spill
  rejected(32, {{"q", 256}, {"x", 160}, {"warps", 8}, {"stages", 1}}, "rows of a warp");
}

TEST_CASE("attention_sm80: a launch leaves the registers that a tile needs") {
  const Case c("attention_sm80", "h200-sxm", {{"h", 16}, {"q", 512}, {"x", 512}, {"d", 64}});
  const Placer placer(c.streamed, c.mapping, c.machine, c.problem);
  const Plan planned = plan(placer.place(c.tile({{"q", 64}, {"x", 128}, {"warps", 4}, {"stages", 1}, {"q_in", 1}})));
  CHECK(planned.blocks_per_sm * Count(4 * 32 * 168) <=
        Count(65536 - 4 * 32 * 168));  // it spilled where three blocks left 168
}

TEST_CASE("attention_sm80: the tiles that measured best are legal") {
  const auto legal = [](std::int64_t d, const Shape& tile) {
    CAPTURE(d);
    CHECK(broken(Case("attention_sm80", "h200-sxm", {{"h", 16}, {"q", 4096}, {"x", 4096}, {"d", d}}), tile).empty());
  };
  legal(64, {{"q", 128}, {"x", 128}, {"warps", 4}, {"stages", 1}});
  legal(64, {{"q", 128}, {"x", 64}, {"warps", 4}, {"stages", 2}});
  legal(128, {{"q", 128}, {"x", 32}, {"warps", 4}, {"stages", 1}});
  legal(128, {{"q", 256}, {"x", 48}, {"warps", 8}, {"stages", 2}});
  legal(128, {{"q", 128}, {"x", 64}, {"warps", 8}, {"stages", 2}, {"q_in", 1}});
  legal(256, {{"q", 64}, {"x", 64}, {"warps", 4}, {"stages", 1}});
}

}  // namespace test_constraints
