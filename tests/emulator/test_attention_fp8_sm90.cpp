// attention_fp8_sm90 on the emulator: its own source, compiled as C++.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/emulator/bytes_problem.hpp"
#include "tests/emulator/running.hpp"

namespace test_attention_fp8_sm90 {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("attention_fp8_sm90: masks, groups, scales and packed sequences come out right") {
  test::check_right<test::Fp8Problem>(test::fp8_cases(21));
}

TEST_CASE("attention_fp8_sm90: groups of query heads that no tile divides") {
  test::check_right<test::Fp8Problem>(test::fp8_cases_of_undivided_groups(), 20);
}

TEST_CASE("attention_fp8_sm90: bits do not hang on the seed") {
  test::check_bits<test::Fp8Problem>(test::fp8_cases(2), 3);
}

TEST_CASE("attention_fp8_sm90: exponentials and products are the mapping's") {
  constexpr std::uint64_t rows = 256, keys = 3 * 128, d = 128, lanes = 4;
  test::Fp8Case one;
  one.layout.sizes = {1, 1, 1, rows, keys, d, d};
  one.layout.log_sum_exp = false;
  one.tile = test::fp8_configurations().front().tile;
  test::Fp8Problem problem(one);
  const test::EmulatedRun run = problem.run(1, 8);
  REQUIRE(run.outcome.error == "");
  CHECK(run.comparison.good());
  CHECK(run.outcome.counters.exponentials == rows * (keys + lanes * keys / 128));  // in each lane delta, chunk by chunk
  CHECK(run.outcome.counters.products == 2 * rows * keys * d + rows * keys * 8);   // and the sums of P
}

// A running sum of the tensor cores, which keeps 14 bits, would lose a twentieth of these ones over 4,097 keys.
TEST_CASE("attention_fp8_sm90: a V of ones comes out as ones, however many keys there are") {
  test::Fp8Case one = test::fp8_case(test::fp8_configurations().front(), 20);
  REQUIRE(one.layout.sizes.x == 4097);
  test::Fp8Problem problem(one);
  problem.fill_v(static_cast<std::uint8_t>(encode(1, DType::e4m3)));
  const test::EmulatedRun run = problem.run(1, 3);
  REQUIRE(run.outcome.error == "");
  CHECK(run.comparison.good());
  CHECK(std::count(run.output.begin(), run.output.end(), encode(1, DType::bf16)) >= 3 * 128);
}

}  // namespace test_attention_fp8_sm90
