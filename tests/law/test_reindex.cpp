// Shifted dimensions and tables against slow twins: rows counted one by one, and the interpreter's counts.

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>

#include "model/diagram/reindex.hpp"
#include "model/fusion/derive.hpp"
#include "model/fusion/partition.hpp"
#include "model/interpret/run.hpp"
#include "solver/optimum/program.hpp"
#include "solver/optimum/report.hpp"
#include "tests/support/case_count.hpp"
#include "tests/unit/diagram/written.hpp"

namespace test_law_reindex {

namespace {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::written;

using Random = std::mt19937_64;

std::int64_t from(Random& random, std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

// Counts rows of every chunk of every group, from its first to its last row, cut to the array.
std::int64_t rows_one_by_one(const Reindex& r, const std::vector<std::array<std::int64_t, 3>>& cuts, std::size_t axis,
                             std::int64_t first, std::int64_t last, std::int64_t rows) {
  if (axis == cuts.size())
    return std::max<std::int64_t>(std::min(last + 1, rows) - std::max<std::int64_t>(first, 0), 0);
  const auto [size, group, chunk] = cuts[axis];
  std::int64_t sum = 0;
  for (std::int64_t g = 0; g < size; g += group) {
    const std::int64_t end = std::min(g + group, size);
    for (std::int64_t c = g; c < end; c += chunk) {
      sum += rows_one_by_one(r, cuts, axis + 1, first + r.strides[axis] * c,
                             last + r.strides[axis] * (std::min(c + chunk, end) - 1), rows);
    }
  }
  return sum;
}

Diagram random_convolution(Random& random) {
  const auto text = [&](std::int64_t most) { return std::to_string(from(random, 1, most)); };
  const std::string offset = from(random, 0, 1) == 0 ? "" : " - " + text(3);
  const std::string row = "y: " + text(3) + "*i + " + text(3) + "*u" + offset;
  const bool flat = from(random, 0, 1) == 0;
  const std::string column = flat ? "" : ", x: " + text(2) + "*j + v" + (from(random, 0, 1) == 0 ? "" : " - 1");
  const std::string axes = flat ? "i: , u: , y: , c: , o: " : "i: , j: , u: , v: , y: , x: , c: , o: ";
  const bool table = from(random, 0, 2) == 0;
  const std::string inputs = std::string(table ? "\"T[c]\", " : "") + "\"X[" + row + column +
                             (table ? ", z: T[c]" : ", c") + "]\", \"W[u," + (flat ? "" : "v,") + "c,o]\"";
  const std::string over = flat ? "u, c" : "u, v, c";
  return written(axes + (table ? ", z: " : ""), inputs,
                 {"Y[i," + std::string(flat ? "" : "j,") + "o] = contract over " + over + " (X, W)"}, "Y");
}

std::vector<AxisRole> random_roles(Random& random, const Diagram& d) {
  std::vector<AxisRole> roles(d.axes.size(), AxisRole::whole);
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const auto axis = static_cast<AxisId>(i);
    const bool carried = std::any_of(d.arrays.begin(), d.arrays.end(), [&](const Array& a) { return a.has(axis); });
    if (carried && splittability(d, axis).streamable && from(random, 0, 1) == 0) roles[i] = AxisRole::group;
  }
  const auto pick = static_cast<std::size_t>(from(random, 0, static_cast<std::int64_t>(roles.size()) - 1));
  if (streamability(d, static_cast<AxisId>(pick)).streamable) roles[pick] = AxisRole::stream;
  return roles;
}

}  // namespace

TEST_CASE("rows of a shifted dimension: closed form = one by one") {
  Random random(1);
  for (int round = 0; round < test::rounds(3000); ++round) {
    Reindex r;
    r.offset = from(random, -6, 4);
    std::vector<std::array<std::int64_t, 3>> cuts;
    std::vector<std::vector<Pieces>> pieces;
    for (std::int64_t axes = from(random, 1, 3); axes > 0; --axes) {
      r.strides.push_back(from(random, 1, 4));
      const std::int64_t size = from(random, 1, 9), group = from(random, 1, 9), chunk = from(random, 1, 9);
      cuts.push_back({size, group, chunk});
      pieces.push_back(pieces_of(size, group, chunk));
    }
    const std::int64_t rows = from(random, 1, 40);
    CHECK(rows_read(r, pieces, rows) == rows_one_by_one(r, cuts, 0, r.offset, r.offset, rows));
  }
}

TEST_CASE("random convolutions: what the interpreter moves and holds is what the two rules say") {
  Random random(2);
  int padded = 0, overlapping = 0, split = 0;
  for (int round = 0; round < test::rounds(400); ++round) {
    const Diagram d = random_convolution(random);
    std::vector<std::pair<std::string, std::int64_t>> shape, tile;
    for (const Axis& axis : d.axes) {
      const bool rows = axis.name == "y" || axis.name == "x" || axis.name == "z";
      if (!rows || from(random, 0, 3) == 0) shape.emplace_back(axis.name, from(random, 1, rows ? 9 : 5));
    }
    const Streamed s = derive(d, random_roles(random, d));
    for (std::size_t i = 0; i < d.axes.size(); ++i) {
      const bool labelled = s.grouped(static_cast<AxisId>(i)) || s.roles[i] == AxisRole::stream;
      if (labelled) tile.emplace_back(d.axes[i].name, from(random, 1, 5));
    }
    const Problem problem{resolve_sizes(d, shape, "shape"), {}, DType::value};
    Partition partition = make_partition(s, problem.sizes, tile, "tile");
    if (s.stream && s.grouped(*s.stream)) partition.chunk = from(random, 1, 3);
    CAPTURE(print(d));
    const Tensors inputs = random_inputs(d, problem.sizes, static_cast<std::uint64_t>(round));
    const Run unfused = run_unfused(d, problem, inputs), run = run_streamed(s, problem, partition, inputs);
    CHECK(difference(unfused.outputs.at("Y"), run.outputs.at("Y")) < 1e-12);
    const Transfer predicted = transfer(s, problem, partition);
    CHECK(run.counts.levels.front().loaded() == predicted.load.value);
    CHECK(run.counts.levels.front().stored() == predicted.store.value);
    CHECK(run.counts.levels.front().peak == memory_live(s, partition).value);
    const Array& x = d.arrays[static_cast<std::size_t>(d.array("X"))];
    padded += x.reindexed[0].offset < 0 ? 1 : 0;
    overlapping += s.stream && is_shifted(x, *s.stream) ? 1 : 0;
    split += s.combines.empty() ? 0 : 1;
  }
  if (test::rounds(100) < 100) return;
  CHECK(padded > 20);
  CHECK(overlapping > 20);
  CHECK(split > 20);
}

TEST_CASE("the integer optimum of a convolution moves what its tile moves") {
  const Diagram d = written("i: , k: 3, c: , o: , x: ", "\"X[x: i + k, c]\", \"W[k,c,o]\"",
                            {"Y[i,o] = contract over k, c (X, W)"}, "Y");
  const Streamed s = derive(d);
  for (const std::int64_t memory : {200, 500, 2000}) {
    const Problem problem{resolve_sizes(d, {{"i", 60}, {"c", 8}, {"o", 16}}, "shape"), {}, DType::value};
    const OptimumReport report = optimum_of(s, problem, Values(memory));
    REQUIRE(report.integer);
    std::vector<std::pair<std::string, std::int64_t>> tile;
    for (const auto& [axis, size] : report.integer->group) tile.emplace_back(axis, size.get());
    const Partition partition = make_partition(s, problem.sizes, tile, "tile");
    CHECK(transfer(s, problem, partition).total() == report.integer->transfer);
    CHECK(memory_lower_bound(s, partition) == report.integer->memory);
    CHECK(report.transfer <= static_cast<double>(report.integer->transfer.value) * 1.0000001);
  }
}

}  // namespace test_law_reindex
