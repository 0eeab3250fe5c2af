#include <doctest/doctest.h>

#include <cmath>

#include "solver/optimum/sharing.hpp"
#include "tests/unit/optimum/programs.hpp"

namespace test_sharing {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

/// Returns the least values that N nodes, each with a tile of C, get beyond those that they hold, over every cut of C
/// into N = rows x columns.
double gathered(double a, double b, double c, int nodes) {
  double least = INFINITY;
  for (int rows = 1; rows <= nodes; ++rows) {
    if (nodes % rows != 0) continue;
    const double columns = nodes / static_cast<double>(rows);
    least = std::min(least, a * b * (columns - 1) + b * c * (rows - 1));
  }
  return least;
}

}  // namespace

TEST_CASE("nodes of a small memory save one another H*(M) - H*(N M) = 2abc M^-1/2 (1 - N^-1/2) (7.6)") {
  const double a = 4096, b = 2048, c = 4096;
  for (const double memory : {1024.0, 65536.0}) {
    for (const double nodes : {2.0, 4.0, 8.0}) {
      const Sharing shared = sharing(matmul(a, b, c), memory, nodes);
      CHECK(shared.memory == memory);
      CHECK(shared.between() ==
            doctest::Approx(2 * a * b * c / std::sqrt(memory) * (1 - 1 / std::sqrt(nodes))).epsilon(1e-6));
    }
  }
}

TEST_CASE("nodes that hold more than their share pass on what a cut of the result into as many tiles gathers") {
  const double n = 1024;
  for (const int nodes : {4, 16, 64}) {  // square numbers, for which the real-valued tile is a whole one
    const Sharing shared = sharing(matmul(n, n, n), 1e12, nodes);
    CHECK(shared.between() == doctest::Approx(gathered(n, n, n, nodes)).epsilon(1e-6));
    CHECK(groups_at(matmul(n, n, n), shared.memory) == doctest::Approx(nodes).epsilon(1e-6));
  }
  CHECK(sharing(matmul(n, n, n), 1e12, 8).between() <= gathered(n, n, n, 8));
}

TEST_CASE("one head's keys and values pass to every other node; nodes of a head each share nothing") {
  const double q = 8192, x = 4096, d = 128;
  for (const double nodes : {2.0, 8.0})
    CHECK(sharing(attention(q, x, d), 1e12, nodes).between() == doctest::Approx(2 * x * d * (nodes - 1)).epsilon(1e-6));
  GeometricProgram heads = attention(q, x, d);
  heads.axes.push_back({"h", 1, 8, symbol(3, "h")});
  for (ProgramTerm& term : heads.terms) term.coefficient *= 8;
  CHECK(sharing(heads, 1e12, 8).between() == doctest::Approx(0).scale(2 * x * d));
}

}  // namespace test_sharing
