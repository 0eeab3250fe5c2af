// attention_backward_sm90 and attention_backward_wide_sm90 on the emulator: their own source, compiled as C++.
#include <doctest/doctest.h>

#include "tests/emulator/backward_problem.hpp"
#include "tests/support/case_count.hpp"

namespace test_attention_backward_sm90 {

using namespace napkin;
using namespace napkin::internal;

namespace {

/// Returns true if all gradients were written and agree with float64.
bool is_right(const test::BackwardCase& one, std::uint64_t seed) {
  test::BackwardProblem problem(one);
  CAPTURE(problem.plans().gradients.expression);
  const test::BackwardRun run = problem.run(seed);
  CHECK(run.error == "");
  CHECK(run.guard == "");
  if (!run.error.empty()) return false;
  const test::BackwardComparison compared = problem.compare(run);
  for (int k = 0; k < 3; ++k) {
    CAPTURE(k);
    CHECK(compared.error[k] <= compared.allowed(k));
  }
  CHECK(compared.unwritten == 0);
  CHECK(compared.beside == "");
  return compared.good();
}

}  // namespace

TEST_CASE("attention_backward_sm90: gradients of small shapes are those of float64") {
  const std::vector<test::BackwardConfiguration> all = test::backward_configurations();
  CHECK(all.size() >= 16);
  std::size_t number = 0, cases = 0, asked = 0;
  for (const test::BackwardConfiguration& c : all) {
    const int shapes = test::is_wide(c) ? (test::rounds(12) + 2) / 3 : test::rounds(12);  // wide heads take long
    for (int i = 0; i < shapes; ++i, ++asked, number += 5) {
      test::BackwardCase one = test::small_case(c, number);
      // A longer shape of each: many queries and few keys, or few queries and many keys.
      if (i == 11 && !c.packed) test::lengthen(one, number);
      CAPTURE(c.d);
      CAPTURE(number);
      cases += is_right(one, number) ? 1 : 0;
    }
  }
  CHECK(cases == asked);
  if (test::rounds(12) == 12) CHECK(cases >= 200);
}

TEST_CASE("attention_backward_sm90: groups of 3, 5, 6, 7 and 12 query heads") {
  std::uint64_t seed = 0;
  for (const test::BackwardCase& one : test::backward_cases_of_groups()) {
    CAPTURE(one.layout.sizes.g);
    CHECK(is_right(one, ++seed));
  }
  CHECK(seed >= 16);
}

TEST_CASE("attention_backward_sm90: bits do not hang on the seed where dQ's parts are added in their order") {
  std::size_t number = 3;
  int ordered = 0;
  for (const test::BackwardConfiguration& c : test::backward_configurations()) {
    const test::BackwardCase one = test::small_case(c, number += 5);
    const bool all = test::is_ordered(one);  // dK and dV are summed by one block each, whatever the order of dQ's sum
    CAPTURE(number);
    test::BackwardProblem problem(one);
    const test::BackwardRun first = problem.run(1000);
    REQUIRE(first.error == "");
    for (std::uint64_t seed = 1001; seed < 1004; ++seed) {
      const test::BackwardRun other = problem.run(seed);
      REQUIRE(other.error == "");
      for (int i = all ? 0 : 1; i < 3; ++i) REQUIRE(other.gradients[i] == first.gradients[i]);
    }
    ordered += all ? 1 : 0;
  }
  CHECK(ordered >= 5);
}

}  // namespace test_attention_backward_sm90
