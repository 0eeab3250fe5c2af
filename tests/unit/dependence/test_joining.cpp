// Loops that carry values are cut into parts: the results of parts, joined by the proposed expressions, equal those of
// the whole loop.

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "model/dependence/execute.hpp"
#include "model/dependence/joining.hpp"
#include "model/dependence/library.hpp"
#include "model/dependence/text.hpp"

namespace test_joining {

namespace {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::dependence;

Nest nest_with(const std::string& arrays, const std::string& statements) {
  return parse_nest("nest: t\nloops: {i: 3, j: 7}\narrays: {" + arrays + "}\nstatements:\n" + statements, "t.yaml");
}

/// Runs the iterations of a loop from `begin` to `end`.
Store run_part(Nest nest, LoopId loop, std::int64_t begin, std::int64_t end) {
  nest.loops[static_cast<std::size_t>(loop)].begin = begin;
  nest.loops[static_cast<std::size_t>(loop)].end = end;
  return execute(nest, arbitrary_values(7));
}

/// Joins two runs cell by cell, in the order of the joining. Of arrays of fewer axes each cell serves all of a row.
void check_joined(const Nest& nest, const Joining& joining, std::int64_t cut) {
  const Loop& loop = nest.loops[static_cast<std::size_t>(joining.loop)];
  const Store whole = execute(nest, arbitrary_values(7));
  const Store first = run_part(nest, joining.loop, loop.begin, cut),
              second = run_part(nest, joining.loop, cut, loop.end);
  std::map<std::string, std::vector<double>> joined;
  for (const JoinedArray& array : joining.arrays) {
    const std::size_t cells = whole.at(array.array).cells.size();
    for (std::size_t c = 0; c < cells; ++c) {
      std::map<std::string, double> values;
      for (const JoinedArray& other : joining.arrays) {
        const std::size_t many = whole.at(other.array).cells.size();
        const std::size_t at = many == cells ? c : c * many / cells;  // rows are outermost
        if (many > cells) continue;
        values[other.array + "_1"] = first.at(other.array).cells[at];
        values[other.array + "_2"] = second.at(other.array).cells[at];
        const bool is_done = other.array != array.array && joined.contains(other.array);
        if (is_done) values[other.array] = joined[other.array][at];
      }
      joined[array.array].push_back(evaluate(array.by, values));
      CHECK(joined[array.array][c] == doctest::Approx(whole.at(array.array).cells[c]).epsilon(1e-9));
    }
  }
}

}  // namespace

TEST_CASE("attention's keys may be cut into parts: m by max, l and O rescaled") {
  const Nest nest = load_nest("attention");
  const std::vector<Joining> found = joinings(nest, dependences(nest));
  REQUIRE(found.size() == 1);
  REQUIRE_MESSAGE(found[0].why_not.empty(), found[0].why_not);
  REQUIRE(found[0].arrays.size() == 3);
  CHECK(found[0].arrays[0].array == "m");
  CHECK(print_expression(nest, found[0].arrays[0].by) == "max(m_1, m_2)");
  CHECK(print_expression(nest, found[0].arrays[1].by) == "exp(m_1 - m) * l_1 + exp(m_2 - m) * l_2");
  CHECK(found[0].arrays[2].array == "O");
  for (const std::int64_t cut : {1, 2, 4}) check_joined(nest, found[0], cut);
}

TEST_CASE("sums and maxima join by themselves, directly stored or by way of a temporary") {
  const Nest nest = nest_with("X: , s: 0, t: 0, w: infinity",
                              "  - S1(i,j) s[i] = s[i] + X[i,j]\n  - S2(i,j) a = t[i]\n  - S3(i,j) b = a + X[i,j] * "
                              "X[i,j]\n  - S4(i,j) t[i] = b\n  - S5(i,j) w[i] = min(w[i], X[i,j])\n");
  const std::vector<Joining> found = joinings(nest, dependences(nest));
  REQUIRE(found.size() == 1);
  REQUIRE_MESSAGE(found[0].why_not.empty(), found[0].why_not);
  CHECK(found[0].arrays.size() == 3);
  check_joined(nest, found[0], 3);
}

TEST_CASE("what depends on the order of the loop is refused, with the array") {
  for (const char* update : {"s[i] * 0.5 + X[i,j]", "exp(s[i]) + X[i,j]", "max(s[i], X[i,j]) + 1",
                             "s[i] * s[i] + X[i,j]", "s[i] * X[i,j] + X[i,j]"}) {
    CAPTURE(update);
    const Nest nest = nest_with("X: , s: 0", std::string("  - S1(i,j) s[i] = ") + update + "\n");
    const std::vector<Joining> found = joinings(nest, dependences(nest));
    REQUIRE(found.size() == 1);
    CHECK(found[0].arrays.empty());
    CHECK(found[0].why_not.starts_with("s "));
  }
  const Nest prefix = nest_with("X: , s: 0, Y: 0", "  - S1(i,j) s[i] = s[i] + X[i,j]\n  - S2(i,j) Y[i,j] = s[i]\n");
  CHECK(joinings(prefix, dependences(prefix))[0].why_not.starts_with("Y "));
  const Nest skewed = load_nest("skewed");
  for (const Joining& one : joinings(skewed, dependences(skewed))) CHECK(one.arrays.empty());
}

TEST_CASE("operands have the loops that they were made in") {
  const Nest nest = load_nest("attention");
  const auto loops = [&](const char* statement, const char* array) {
    std::string text;
    for (const Operand& one : operands_of(nest, nest.statement(statement))) {
      if (one.value.array != array) continue;
      for (const LoopId loop : one.made_in) text += loop_name(nest, loop);
    }
    return text;
  };
  CHECK(loops("S5", "q_i") == "i");
  CHECK(loops("S5", "k_j") == "ij");
  CHECK(loops("S3", "m") == "i");
  CHECK(loops("S10", "v_jd") == "ijd");
  CHECK(loops("S10", "S_ij") == "ij");
  CHECK(loops("S9", "V") == "jd");
}

}  // namespace test_joining
