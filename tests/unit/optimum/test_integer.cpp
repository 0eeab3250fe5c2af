#include <doctest/doctest.h>

#include "tests/unit/optimum/programs.hpp"

namespace test_integer {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

void check_optimum(const IntegerProblem& p, std::int64_t transfer, std::int64_t first, std::int64_t second) {
  const auto best = integer_optimum(p);
  REQUIRE(best);
  CHECK(best->transfer.get() == transfer);
  CHECK(best->group[0].get() == first);
  CHECK(best->group[1].get() == second);
  CHECK(transfer_of(p, best->group) == best->transfer);
  CHECK(best->memory <= p.limit);
}

}  // namespace

TEST_CASE("the exact matmul optima, group by group") {
  check_optimum(matmul_integer(480, 480, 480, 64), 32'025'600, 7, 7);
  check_optimum(matmul_integer(480, 480, 480, 1024), 7'372'800, 30, 32);
  check_optimum(matmul_integer(480, 480, 480, 65536), 1'152'000, 240, 270);
}

TEST_CASE("matmul under wgmma's divisors, and with groups that divide the axes") {
  IntegerProblem p = matmul_integer(4096, 4096, 4096, 58112);
  p.axes[0].multiple = 64;
  p.axes[1].multiple = 8;
  p.chunks = {16};
  check_optimum(p, 654'311'424, 192, 264);
  for (IntegerAxis& axis : p.axes) axis.divides = true;
  check_optimum(p, 822'083'584, 128, 256);
  const double bound = closed_form(matmul(4096, 4096, 4096), 58112).transfer;
  CHECK(std::round(bound / 1e3) == 586'911);
  CHECK(654'311'424 / bound == doctest::Approx(1.115).epsilon(0.0005));
  CHECK(822'083'584 / bound == doctest::Approx(1.40).epsilon(0.001));
}

TEST_CASE("the larger stream size wins only where it costs nothing") {
  IntegerProblem p = matmul_integer(480, 480, 480, 1024);
  p.chunks = {16, 1, 4};
  CHECK(integer_optimum(p)->chunk == 1);
  p.limit = 65536;
  p.chunks = {1, 16, 8};
  const auto best = integer_optimum(p);
  CHECK(best->chunk == 16);
  CHECK(best->transfer == 1'152'000);
}

TEST_CASE("attention: one wave of three groups whatever g in 342..511") {
  const Count q = 1024, x = 1024, d = 64;
  IntegerProblem p;
  p.axes = {{1}, {q}};
  p.terms = {{2 * 1024 * 64, 0}, {2 * 1024 * 64, 0b11}};
  p.memory = [&](std::span<const Count> g, Count s) { return 2 * g[0] * g[1] * d + 2 * s * d; };
  for (int g = 342; g <= 511; ++g) {
    p.limit = 2 * d * Count(g) + 2 * d;
    const auto best = integer_optimum(p);
    CHECK(best->group[1] == g);
    CHECK(best->transfer == 2 * q * d + 3 * 2 * x * d);
  }
}

TEST_CASE("nothing fits: no optimum, not an error") {
  CHECK_FALSE(integer_optimum(matmul_integer(480, 480, 480, 2)));
  CHECK(integer_optimum(matmul_integer(480, 480, 480, 3))->group == std::vector<Count>{1, 1});
  IntegerProblem p = matmul_integer(480, 480, 480, 65536);
  p.axes[0] = {480, 64, true};  // no multiple of 64 divides 480
  CHECK_FALSE(integer_optimum(p));
}

TEST_CASE("an axis that no array lacks keeps its smallest group") {
  IntegerProblem p = matmul_integer(480, 480, 480, 1024);
  p.axes.push_back({64});
  p.memory = [](std::span<const Count> g, Count s) { return g[2] * (g[0] * g[1] + g[0] * s + s * g[1]); };
  const auto best = integer_optimum(p);
  CHECK(best->group == std::vector<Count>{30, 32, 1});
}

TEST_CASE("counts beyond 64 bits are an error or too large, never a wrap") {
  const Count big = std::int64_t{1} << 31;
  // Every choice overflows: 2^31 * 2^31 values in each operand, read at least twice over.
  IntegerProblem p = matmul_integer(big, big, big, 1 << 20);
  CHECK_THROWS_AS((void)integer_optimum(p), Overflow);
  // Small groups overflow H and huge ones the memory; sizes in between overflow nothing.
  p = matmul_integer(big, 1, big, 65536);
  const auto best = integer_optimum(p);
  REQUIRE(best);
  CHECK(best->memory <= 65536);
  CHECK(best->transfer == transfer_of(p, best->group));
  CHECK_THROWS_AS((void)transfer_of(matmul_integer(big, big, 4, 64), std::vector<Count>{1, 1}), Overflow);
  // (2^62 + 5) values once for each of 4 groups: 20 if it wrapped.
  IntegerProblem wrapping;
  wrapping.axes = {{4}};
  wrapping.terms = {{(std::int64_t{1} << 62) + 5, 0b1}};
  wrapping.memory = [](std::span<const Count> g, Count) { return g[0]; };
  wrapping.limit = 1;
  CHECK_THROWS_AS((void)integer_optimum(wrapping), Overflow);
  wrapping.limit = 4;
  CHECK(integer_optimum(wrapping)->transfer == (std::int64_t{1} << 62) + 5);
  IntegerProblem bad = matmul_integer(0, 1, 1, 64);
  CHECK_THROWS_AS((void)integer_optimum(bad), Error);
}

}  // namespace test_integer
