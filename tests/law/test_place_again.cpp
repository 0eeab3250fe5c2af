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

bool same(const PlacedDiagram& a, const PlacedDiagram& b) {
  return same(a.levels, b.levels) && same(a.walk, b.walk) && same(a.variables, b.variables) &&
         same(a.agents, b.agents) && same(a.operations, b.operations) && a.tile.values == b.tile.values &&
         a.blocks == b.blocks && a.cluster == b.cluster && a.threads == b.threads;
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
      CHECK(same(over, anew));
      for (std::size_t turns = 1 + random() % 2; turns > 0; --turns) {
        const std::size_t k = random() % tile.values.size();
        const auto& domain = c.mapping.knobs[k].domain;
        tile.values[k] = domain[random() % domain.size()];
      }
    }
  }
  CHECK(kernels > 5);
}

// A session keeps a placer and binds it to the next question by changing the problem that it points to. Guards over
// head widths (work, overheads, tables) must then be asked anew.
TEST_CASE("a placer bound to a problem that changed in place places as a new one does") {
  std::mt19937 random(20261129);
  int kernels = 0, by_size = 0;
  for (const std::string& kernel : builtin_mappings()) {
    const Mapping mapping = load_mapping(kernel, "test");
    if (mapping.algorithm != "attention" && mapping.algorithm != "attention_backward") continue;
    CAPTURE(kernel);
    ++kernels;
    by_size += mapping.head_sizes.empty() ? 0 : 1;
    const DType dtype = mapping.dtypes.empty() ? DType::bf16 : parse_dtype(mapping.dtypes.front(), "test");
    const Mask mask = random() % 2 == 0 ? Mask{Mask::Kind::causal, 0, 0} : Mask{};
    const auto at = [&] {
      const std::int64_t widths[] = {32, 64, 72, 96, 128, 192, 256}, d = widths[random() % 7];
      const std::int64_t q = 1 + static_cast<std::int64_t>(random() % 3000);
      const std::int64_t x = 1 + static_cast<std::int64_t>(random() % 3000);
      const std::int64_t g = 1 + static_cast<std::int64_t>(random() % 4);
      return Shape{{"b", 2}, {"h", 3}, {"g", g}, {"q", q}, {"x", x}, {"d", d}, {"dv", d}};
    };
    const Case c(kernel, test::home_gpu(mapping), at(), mask, dtype);
    Problem problem = c.problem;
    Placer kept(c.streamed, c.mapping, c.machine, problem);
    PlacedDiagram over;
    Tile tile = c.tile({});
    for (int step = 0; step < 60; ++step) {
      CAPTURE(step);
      const std::size_t k = random() % tile.values.size();
      const auto& domain = c.mapping.knobs[k].domain;
      tile.values[k] = domain[random() % domain.size()];
      problem.sizes = resolve_sizes(c.streamed.diagram, at(), "test");
      kept.rebind(problem);
      kept.place(tile, over);
      CHECK(same(over, Placer(c.streamed, c.mapping, c.machine, problem).place(tile)));
    }
  }
  CHECK(kernels > 40);
  CHECK(by_size > 20);
}

}  // namespace test_place_again
