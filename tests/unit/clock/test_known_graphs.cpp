// Graphs that tiles share equal the graphs made for each tile alone.
#include <doctest/doctest.h>

#include <random>

#include "model/clock/known_graphs.hpp"
#include "model/clock/prediction.hpp"
#include "model/clock/run/period.hpp"
#include "tests/support/gpu_of_mapping.hpp"
#include "tests/support/layout.hpp"

namespace test_known_graphs {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

bool same(const EventGraph& a, const EventGraph& b) {
  Periods periods;
  return periods.digest_of(a) == periods.digest_of(b) && a.engines == b.engines;
}

Shape shape_of(const std::string& algorithm) {
  if (algorithm == "matmul") return {{"a", 1000}, {"b", 500}, {"c", 777}};
  return {{"b", 2}, {"h", 3}, {"g", 4}, {"q", 700}, {"x", 901}, {"d", 64}, {"dv", 128}};
}

}  // namespace

TEST_CASE("a graph known from another tile is the graph that the tile has by itself, along walks over all mappings") {
  std::mt19937 random(20261128);
  std::size_t tiles = 0, shared = 0;
  for (const std::string& kernel : builtin_mappings()) {
    const Mapping& mapping = built_in_mapping(kernel);
    if (mapping.algorithm != "attention" && mapping.algorithm != "matmul") continue;
    CAPTURE(kernel);
    const DType dtype = mapping.dtypes.empty() ? DType::bf16 : parse_dtype(mapping.dtypes.front(), "test");
    Mask mask;
    if (mapping.algorithm == "attention" && random() % 2 == 0) mask.kind = Mask::Kind::causal;
    const LaidOut l(kernel, home_gpu(mapping), shape_of(mapping.algorithm), dtype, mask);
    KnownGraphs known;
    Tile tile = l.tile({});
    for (int step = 0; step < 60; ++step) {
      CAPTURE(step);
      const PlacedDiagram placed = l.placer->place(tile);
      REQUIRE(known.has(placed) == has_event_graph(placed));
      if (has_event_graph(placed)) {
        const EventGraph own = event_graph(placed);
        const std::size_t before = known.number();
        REQUIRE(same(known.of(placed), own));
        ++tiles;
        shared += known.number() == before ? 1 : 0;
      }
      const std::size_t k = random() % tile.values.size();
      const auto& domain = mapping.knobs[k].domain;
      tile.values[k] = domain[random() % domain.size()];
    }
  }
  CHECK(tiles > 500);
  CHECK(shared > tiles / 20);
}

TEST_CASE("tiles that differ in copies and order alone share a graph's number, and each has its own tokens") {
  const LaidOut l("attention_sm90", "h200-sxm", {{"b", 1}, {"h", 16}, {"q", 8192}, {"x", 8192}, {"d", 128}},
                  DType::bf16);
  KnownGraphs known;
  const PlacedDiagram first = l.place({{"stages", "2"}, {"order", "persistent"}});
  const Periods::Digest two = Periods().digest_of(known.of(first));
  const std::size_t number = known.number();
  const Periods::Digest three = Periods().digest_of(known.of(l.place({{"stages", "3"}, {"order", "grid"}})));
  CHECK(known.number() == number);
  CHECK_FALSE(two == three);
  CHECK(Periods().digest_of(known.of(first)) == two);
  (void)known.of(l.place({{"overlap", "off"}}));
  CHECK(known.number() != number);
}

}  // namespace test_known_graphs
