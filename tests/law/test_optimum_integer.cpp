// The exact integer optimum compared with a slow twin that tries every assignment of group sizes.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "tests/unit/optimum/programs.hpp"

namespace test_optimum_integer {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

// The rule of integer.hpp, by exhaustion: least H, then the larger chunk, then the smaller group of each axis in turn,
// but of the last axis that some term lacks the largest; an axis that no term lacks keeps its smallest.
struct Twin {
  const IntegerProblem& p;
  std::size_t last = 0;
  std::optional<IntegerOptimum> best;

  bool lacked(std::size_t i) const {
    for (const IntegerTerm& t : p.terms) {
      if (((t.lacks >> i) & 1U) != 0) return true;
    }
    return false;
  }

  bool better(const IntegerOptimum& a, const IntegerOptimum& b) const {
    if (a.transfer != b.transfer) return a.transfer < b.transfer;
    if (a.chunk != b.chunk) return a.chunk > b.chunk;
    for (std::size_t i = 0; i < a.group.size(); ++i) {
      if (i != last && a.group[i] != b.group[i]) return a.group[i] < b.group[i];
    }
    return a.group[last] > b.group[last];
  }

  void visit(std::vector<Count>& group, std::size_t axis, Count chunk) {
    if (axis == group.size()) {
      const Count memory = p.memory(group, chunk);
      if (memory > p.limit) return;
      IntegerOptimum found{transfer_of(p, group), group, chunk, memory, 0};
      if (!best || better(found, *best)) best = found;
      return;
    }
    const IntegerAxis& a = p.axes[axis];
    for (Count g = a.multiple; g <= round_up(a.size, a.multiple); g += a.multiple) {
      if (a.divides && a.size % g != 0) continue;
      group[axis] = g;
      visit(group, axis + 1, chunk);
      if (!lacked(axis)) break;
    }
  }

  std::optional<IntegerOptimum> run() {
    for (std::size_t i = 0; i < p.axes.size(); ++i) {
      if (lacked(i)) last = i;
    }
    for (Count chunk : p.chunks) {
      std::vector<Count> group(p.axes.size(), 1);
      visit(group, 0, chunk);
    }
    return best;
  }
};

// Returns a random problem whose memory is a maximum of two sums of products with positive coefficients.
IntegerProblem random_problem(std::mt19937& random, int axes, const std::vector<int>& sizes) {
  const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  IntegerProblem p;
  for (int i = 0; i < axes; ++i) {
    IntegerAxis a{sizes[static_cast<std::size_t>(pick(static_cast<int>(sizes.size())))], 1, pick(5) == 0};
    if (pick(3) == 0) a.multiple = 1 + pick(4);
    p.axes.push_back(a);
  }
  const int all = 1 << axes;
  for (int t = 0; t < 2 + pick(4); ++t) p.terms.push_back({1 + pick(100), static_cast<std::uint64_t>(pick(all))});
  struct Part {
    int factor, set;
    bool stream;
  };
  std::vector<Part> columns[2];
  for (auto& column : columns) {
    for (int k = 0; k < 1 + pick(3); ++k) column.push_back({1 + pick(5), pick(all), pick(3) == 0});
    column.push_back({1, all - 1, false});
  }
  p.memory = [first = columns[0], second = columns[1]](std::span<const Count> g, Count s) {
    Count most = 0;
    for (const auto* column : {&first, &second}) {
      Count sum = 0;
      for (const Part& part : *column) {
        Count values = part.factor;
        for (std::size_t i = 0; i < g.size(); ++i) values *= (part.set >> i) & 1 ? g[i] : 1;
        sum += part.stream ? values * s : values;
      }
      most = std::max(most, sum);
    }
    return most;
  };
  p.limit = 1 + pick(pick(2) == 0 ? 60 : 2000);
  if (pick(3) == 0) p.chunks = {1, 4, 2};
  return p;
}

void compare(const IntegerProblem& p) {
  const auto fast = integer_optimum(p);
  const auto slow = Twin{p, 0, {}}.run();
  REQUIRE(fast.has_value() == slow.has_value());
  if (!fast) return;
  CHECK(fast->transfer == slow->transfer);
  CHECK(fast->group == slow->group);
  CHECK(fast->chunk == slow->chunk);
  CHECK(fast->memory == slow->memory);
  CHECK(fast->transfer == transfer_of(p, fast->group));
}

}  // namespace

TEST_CASE("integer optimum: equal to trying every group size, one to four axes, divisors, chunks, ragged ends") {
  std::mt19937 random(20260101);
  const std::vector<int> sizes[] = {{1, 7, 64, 65, 97, 128}, {1, 7, 24, 33, 65}, {1, 5, 7, 12, 17}, {1, 2, 7, 8}};
  int fitting = 0;
  for (int axes = 1; axes <= 4; ++axes) {
    for (int round = 0; round < 400; ++round) {
      CAPTURE(axes);
      CAPTURE(round);
      const IntegerProblem p = random_problem(random, axes, sizes[axes - 1]);
      compare(p);
      fitting += integer_optimum(p).has_value() ? 1 : 0;
    }
  }
  CHECK(fitting > 800);
}

TEST_CASE("integer optimum: matmul, every pair of groups, over small awkward sizes") {
  for (int a : {1, 7, 64, 65}) {
    for (int c : {1, 7, 63, 65}) {
      for (int memory : {3, 4, 17, 64, 65, 255, 1024, 5000}) compare(matmul_integer(a, 33, c, memory));
    }
  }
}

TEST_CASE("closed form <= integer optimum, and the gap between them (erratum L1)") {
  // s = 1: g = sqrt(M + 1) - 1, so H is 2abc / (sqrt(M + 1) - 1) + ac; axes are multiples of those sizes.
  const double gaps[] = {0.065, 0.016, 0.004};
  for (int k = 0; k < 3; ++k) {
    const std::int64_t root = std::int64_t{16} << (2 * k), g = root - 1, memory = root * root - 1;
    const std::int64_t n = g * (4080 / g);
    const auto best = integer_optimum(matmul_integer(n, 1 << 20, n, memory));
    const double bound = closed_form(matmul(double(n), 1 << 20, double(n)), double(memory)).transfer;
    const double ratio = double(best->transfer) / bound;
    CHECK(ratio >= 1);
    CHECK(ratio - 1 == doctest::Approx(gaps[k]).epsilon(0.05));
    CHECK(best->group == std::vector<Count>{g, g});
  }
}

TEST_CASE("ceilings cost 5% at 480^3 and M = 65536, a third of K and V for attention (erratum L2)") {
  const double bound = closed_form(matmul(480, 480, 480), 65536).transfer;
  CHECK(1'152'000 / bound == doctest::Approx(1.0526).epsilon(1e-4));
  IntegerProblem p;
  p.axes = {{1024}};
  p.terms = {{2 * 1024 * 64, 0b1}};
  p.memory = [](std::span<const Count> g, Count s) { return 128 * g[0] + 128 * s; };
  p.limit = 128 * 512;
  const auto at_511 = integer_optimum(p);
  CHECK(at_511->group[0] == 511);
  CHECK(double(at_511->transfer) / (2 * 1024 * 64 * 1024. / 511) == doctest::Approx(1.5).epsilon(0.01));
  p.limit = 128 * 343;
  CHECK(integer_optimum(p)->transfer == at_511->transfer);
}

TEST_CASE("closed form <= integer optimum whenever the bound is valid, over random shapes") {
  std::mt19937 random(7);
  const int sizes[] = {1, 7, 33, 65, 128, 480, 1000};
  for (int round = 0; round < 300; ++round) {
    const auto pick = [&] { return sizes[random() % 7]; };
    const int a = pick(), b = pick(), c = pick(), memory = 3 + static_cast<int>(random() % 5000);
    const auto best = integer_optimum(matmul_integer(a, b, c, memory));
    REQUIRE(best);
    CHECK(double(best->transfer) >= closed_form(matmul(a, b, c), memory).transfer * (1 - 1e-12));
  }
}

}  // namespace test_optimum_integer
