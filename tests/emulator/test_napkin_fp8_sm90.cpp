// napkin_fp8_sm90 on the emulator: its own source, compiled as C++.
#include <doctest/doctest.h>

#include "tests/emulator/bytes_problem.hpp"
#include "tests/emulator/running.hpp"

namespace test_napkin_fp8_sm90 {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("napkin_fp8_sm90: masks, groups and packed sequences come out right, whatever the knobs") {
  test::check_right<test::NapkinProblem>(test::napkin_cases(14), 150);
}

TEST_CASE("napkin_fp8_sm90: bits do not hang on the seed") {
  test::check_bits<test::NapkinProblem>(test::napkin_cases(2), 3);
}

TEST_CASE("napkin_fp8_sm90: exponentials and products are the mapping's") {
  constexpr std::uint64_t rows = 768, keys = 3 * 64, d = 128;
  test::NapkinCase one;
  one.layout.sizes = {1, 1, 1, rows, keys, d, d};
  one.tile = test::napkin_configurations().front().tile;
  test::NapkinProblem problem(one);
  const test::EmulatedRun run = problem.run(1, 8);
  REQUIRE(run.outcome.error == "");
  CHECK(run.comparison.good());
  // and delta once a subloop, in the one thread of a row
  CHECK(run.outcome.counters.exponentials == rows * (keys + keys / 64));
  CHECK(run.outcome.counters.products == 2 * rows * keys * d);
}

}  // namespace test_napkin_fp8_sm90
