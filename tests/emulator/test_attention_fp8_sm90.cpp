// attention_fp8_sm90 on the emulator: its own source, compiled as C++.
#include <doctest/doctest.h>

#include "tests/emulator/fp8_problem.hpp"

namespace test_attention_fp8_sm90 {

using namespace napkin;

TEST_CASE("attention_fp8_sm90: masks, groups, scales and packed sequences come out right") {
  const std::vector<test::Fp8Case> cases = test::fp8_cases(21);
  CHECK(cases.size() >= 200);
  std::uint64_t seed = 0;
  for (const test::Fp8Case& one : cases) {
    CAPTURE(test::describe(one));
    test::Fp8Problem problem(one, 1 + static_cast<int>(seed % 4));
    const test::EmulatedRun run = problem.run(++seed, 64);
    CHECK(run.outcome.error == "");
    CHECK(run.guard == "");
    CHECK(run.comparison.max_error <= allowed_error(run.comparison.reference_error, run.comparison.rounding));
    CHECK(run.comparison.good());
  }
}

TEST_CASE("attention_fp8_sm90: bits do not hang on the seed") {
  for (const test::Fp8Case& one : test::fp8_cases(2)) {
    CAPTURE(test::describe(one));
    test::Fp8Problem problem(one);
    const test::EmulatedRun first = problem.run(1000, 4);
    REQUIRE(first.outcome.error == "");
    for (std::uint64_t seed = 1001; seed < 1003; ++seed) {
      const test::EmulatedRun other = problem.run(seed, 4);
      REQUIRE(other.outcome.error == "");
      REQUIRE(other.output == first.output);
      REQUIRE(other.outcome.counters.box_bytes == first.outcome.counters.box_bytes);
    }
  }
}

TEST_CASE("attention_fp8_sm90: exponentials and products are the mapping's") {
  constexpr std::uint64_t rows = 256, keys = 3 * 128, d = 128, lanes = 4;
  test::Fp8Case one;
  one.layout.sizes = {1, 1, 1, rows, keys, d, d};
  one.tile = test::fp8_configurations().front().tile;
  test::Fp8Problem problem(one);
  const test::EmulatedRun run = problem.run(1, 8);
  REQUIRE(run.outcome.error == "");
  CHECK(run.comparison.good());
  CHECK(run.outcome.counters.exponentials == rows * (keys + lanes * keys / 128));  // in each lane delta, chunk by chunk
  CHECK(run.outcome.counters.products == 2 * rows * keys * d);
}

}  // namespace test_attention_fp8_sm90
