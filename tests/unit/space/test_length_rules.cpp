// Rules of lengths that are derived from another question of the kind equal those made for the question alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "solver/space/enumerate.hpp"
#include "solver/space/length_rules.hpp"
#include "tests/support/gpu_of_mapping.hpp"
#include "tests/unit/select/case.hpp"

namespace test_length_rules {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::Case;
using napkin::internal::testing::Shape;

namespace {

/// Checks each rule that reads lengths at random tiles, and that the others give both questions one result.
int check_rules(const Case& like, const Case& other, std::mt19937& random) {
  const Rules known(like.streamed, like.mapping, like.machine, like.problem),
      own(other.streamed, other.mapping, other.machine, other.problem);
  const LengthRules lengths(like.streamed, like.mapping, like.machine, like.problem);
  const auto anew = lengths.at(other.streamed, other.mapping, other.machine, other.problem);
  REQUIRE(known.tile.size() == own.tile.size());
  const Setup setup = other.setup();
  const Space space = space_of_kind(setup);
  std::uniform_int_distribution<std::int64_t> draw(0, space.candidates.get() - 1);
  const auto excess = [](const TileRule& rule, const Tile& tile) { return rule.check(tile).value_or(Excess{-1, -1}); };
  int found = 0;
  for (std::size_t r = 0; r < own.tile.size(); ++r) {
    const auto placed = std::find_if(anew.begin(), anew.end(), [&](const auto& one) { return one.first == r; });
    CHECK(own.tile[r].lengths == (placed != anew.end()));
    const TileRule& used = placed != anew.end() ? placed->second : known.tile[r];
    CHECK(used.name == own.tile[r].name);
    for (int i = 0; i < 8; ++i) {
      const Tile tile = space.tile(draw(random));
      const Excess a = excess(used, tile), b = excess(own.tile[r], tile);
      CHECK(a.needed == b.needed);
      CHECK(a.available == b.available);
    }
    found += placed != anew.end() ? 1 : 0;
  }
  return found;
}

}  // namespace

TEST_CASE("rules of lengths made anew are the question's own, and the others do not change, for every mapping") {
  std::mt19937 random(39);
  int mappings = 0, rules = 0;
  for (const std::string& name : builtin_mappings()) {
    const Mapping mapping = load_mapping(name, "test");
    const std::string gpu = test::home_gpu(mapping);
    if (gpu.empty() || mapping.exact_groups) continue;
    const bool heads = mapping.algorithm == "attention", product = mapping.algorithm == "matmul";
    if (!heads && !product) continue;
    CAPTURE(name);
    const DType type = parse_dtype(mapping.dtypes.empty() ? "bf16" : mapping.dtypes.front(), "test");
    const Case like(
        name, gpu,
        heads ? Shape{{"h", 16}, {"q", 8192}, {"x", 8192}, {"d", 128}} : Shape{{"a", 8192}, {"b", 8192}, {"c", 8192}},
        {}, type);
    for (const std::int64_t n : {64, 777, 40000}) {
      const Case other(name, gpu,
                       heads ? Shape{{"b", 3}, {"h", 5}, {"q", n}, {"x", n + 1}, {"d", 128}}
                             : Shape{{"a", n}, {"b", n + 1}, {"c", 2 * n}},
                       {}, type);
      rules += check_rules(like, other, random);
    }
    ++mappings;
  }
  CHECK(mappings >= 20);
  CHECK(rules > mappings);
}

}  // namespace test_length_rules
