// Placing into an existing object, which updates only parts that depend on the changed knobs, gives the result of a new
// placement, for every mapping, along random walks over its tiles.
#include <doctest/doctest.h>

#include <random>

#include "model/mapping/placed.hpp"
#include "tests/support/gpu_of_mapping.hpp"
#include "tests/unit/select/case.hpp"

namespace test_place_again {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::Case;
using napkin::internal::testing::Shape;

namespace {

bool same(const PlacedLevel& a, const PlacedLevel& b) {
  return a.level == b.level && a.staged == b.staged && a.extent == b.extent && a.groups_of == b.groups_of &&
         a.chunk == b.chunk && a.groups == b.groups;
}

bool same(const Walk& a, const Walk& b) {
  const Visits &s = a.total, &t = b.total;
  return s.row_groups == t.row_groups && s.chunks == t.chunks && s.columns == t.columns && s.longest == t.longest &&
         a.last_chunks == b.last_chunks && a.last_columns == b.last_columns && a.all_chunks == b.all_chunks &&
         a.across == b.across;
}

bool same(const Variable& a, const Variable& b) {
  return a.mapping == b.mapping && a.elements == b.elements && a.copies == b.copies && a.alias == b.alias &&
         a.multicast == b.multicast && std::equal(a.arrays.begin(), a.arrays.end(), b.arrays.begin(), b.arrays.end());
}

bool same(const PlacedAgent& a, const PlacedAgent& b) {
  return a.mapping == b.mapping && a.instances == b.instances && a.threads == b.threads && a.registers == b.registers &&
         a.overhead == b.overhead && a.rows == b.rows && a.extent == b.extent;
}

bool same(const PlacedOperation& a, const PlacedOperation& b) {
  return a.m == b.m && a.n == b.n && a.k == b.k && a.a_from_registers == b.a_from_registers &&
         std::equal(a.work.begin(), a.work.end(), b.work.begin(), b.work.end(),
                    [](const PlacedWork& x, const PlacedWork& y) {
                      return x.mapping == y.mapping && x.unit == y.unit && x.amount == y.amount;
                    });
}

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const T& x, const T& y) { return same(x, y); });
}

Case question(const std::string& kernel, const std::string& gpu, std::mt19937& random) {
  const Mapping mapping = load_mapping(kernel, "test");
  const DType dtype = mapping.dtypes.empty() ? DType::bf16 : parse_dtype(mapping.dtypes.front(), "test");
  if (mapping.algorithm == "matmul") return Case(kernel, gpu, {{"a", 1000}, {"b", 500}, {"c", 777}}, {}, dtype);
  Mask mask;
  if (random() % 2 == 0) mask.kind = Mask::Kind::causal;
  return Case(kernel, gpu, {{"b", 2}, {"h", 3}, {"g", 4}, {"q", 700}, {"x", 901}, {"d", 64}, {"dv", 128}}, mask, dtype);
}

}  // namespace

TEST_CASE("a tile placed over another is the tile placed anew") {
  std::mt19937 random(20261121);
  int kernels = 0;
  for (const std::string& kernel : builtin_mappings()) {
    const std::string algorithm = load_mapping(kernel, "test").algorithm;
    if (algorithm != "attention" && algorithm != "matmul") continue;
    CAPTURE(kernel);
    ++kernels;
    const Case c = question(kernel, test::home_gpu(load_mapping(kernel, "test")), random);
    const Placer placer(c.streamed, c.mapping, c.machine, c.problem);
    Tile tile = c.tile({});
    PlacedDiagram over;
    for (int step = 0; step < 200; ++step) {
      CAPTURE(step);
      placer.place(tile, over);
      const PlacedDiagram anew = placer.place(tile);
      CHECK(same(over.levels, anew.levels));
      CHECK(same(over.walk, anew.walk));
      CHECK(same(over.variables, anew.variables));
      CHECK(same(over.agents, anew.agents));
      CHECK(same(over.operations, anew.operations));
      CHECK(over.tile.values == anew.tile.values);
      CHECK(over.blocks == anew.blocks);
      CHECK(over.cluster == anew.cluster);
      CHECK(over.threads == anew.threads);
      for (std::size_t turns = 1 + random() % 2; turns > 0; --turns) {
        const std::size_t k = random() % tile.values.size();
        const auto& domain = c.mapping.knobs[k].domain;
        tile.values[k] = domain[random() % domain.size()];
      }
    }
  }
  CHECK(kernels > 5);
}

}  // namespace test_place_again
