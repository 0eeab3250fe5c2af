// Rules of algebra: operations that may move, those that may not, and the cost of an order of products.

#include <doctest/doctest.h>

#include "model/diagram/library.hpp"
#include "model/fusion/derive.hpp"
#include "model/fusion/rewrite.hpp"
#include "tests/unit/diagram/written.hpp"

namespace test_rewrite {

namespace {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::written;

Sizes sizes(const Diagram& d, std::vector<std::pair<std::string, std::int64_t>> shape) {
  return resolve_sizes(d, shape, "shape");
}

bool streams(const Diagram& d, const std::string& axis) { return streamability(d, d.axis(axis)).streamable; }

}  // namespace

TEST_CASE("a difference of two softmaxes streams once each meets the product alone") {
  const Diagram written = load_diagram("differential_attention");
  CHECK_FALSE(streams(written, "x"));
  const Diagram moved = linearised(written);
  CHECK(streams(moved, "x"));
  CHECK(moved.rewritings.size() >= 1);
  CHECK(moved.find_array("O").has_value());
  CHECK(moved.axis_names() == written.axis_names());
}

TEST_CASE("a term that lacks the summed axis stays: the sum would repeat it") {
  // sum over x (A + r) = sum over x A + |x| r, which is no sum of the parts.
  const Diagram d = written("q: , x: , y: ", "\"A[q,x]\", \"B[q,x]\", \"V[x,y]\"",
                            {"P[q,x] = softmax over x (A)", "z[q] = sum over x (B)", "D[q,x] = add (P, z)",
                             "O[q,y] = contract over x (D, V)"},
                            "O");
  CHECK(linearised(d).rewritings.empty());
}

TEST_CASE("a factor that carries the summed axis stays") {
  const Diagram d = written("q: , x: , y: ", "\"A[q,x]\", \"V[x,y]\"",
                            {"P[q,x] = softmax over x (A)", "z[x] = max over q (A)", "D[q,x] = multiply (P, z)",
                             "O[q,y] = contract over x (D, V)"},
                            "O");
  const Diagram other = linearised(d);
  CHECK(other.rewritings.empty());
}

TEST_CASE("what a nonlinear operation takes does not move") {
  const Diagram d = written("q: , x: , y: ", "\"A[q,x]\", \"B[q,x]\", \"V[x,y]\"",
                            {"P[q,x] = softmax over x (A)", "R[q,x] = softmax over x (B)", "D[q,x] = subtract (P, R)",
                             "E[q,x] = map square (D)", "O[q,y] = contract over x (E, V)"},
                            "O");
  CHECK(linearised(d).rewritings.empty());
  CHECK_FALSE(streams(linearised(d), "x"));
}

TEST_CASE("a factor of a row moves behind the product: one pass over k") {
  const Diagram moved = linearised(load_diagram("rms_norm_matmul"));
  CHECK(streams(moved, "k"));
  CHECK(moved.operations.back().kind == OpKind::multiply);
}

TEST_CASE("a diagram that streams as it is written stays as it is") {
  for (const char* name : {"attention", "attention_backward", "matmul", "mlp", "softmax_contraction", "swiglu"}) {
    const Diagram written = load_diagram(name);
    CHECK(linearised(written) == written);
  }
}

TEST_CASE("products are taken in the order that needs the fewest multiply-adds") {
  const Diagram d = load_diagram("linear_attention");
  // (S V) needs 2 q x d; K^T V first needs 2 q d^2 with x = q.
  const Diagram long_rows = reassociated(d, sizes(d, {{"q", 4096}, {"d", 64}}));
  REQUIRE(long_rows.rewritings.size() == 1);
  CHECK_FALSE(long_rows.find_array("S").has_value());
  CHECK(long_rows.operations.size() == d.operations.size());
  const Diagram short_rows = reassociated(d, sizes(d, {{"q", 32}, {"d", 64}}));
  CHECK(short_rows.rewritings.empty());
  // both orders cost as many, so that the order as written stays
  CHECK(reassociated(d, sizes(d, {{"q", 64}, {"d", 64}})).rewritings.empty());
}

TEST_CASE("a chain of four matrices: the textbook's order") {
  // Cormen et al., "Matrix-chain multiplication": A1 30x35, A2 35x15, A3 15x5, A4 5x10: 15,125 - ... by dynamic
  // programming
  const Diagram d = written(
      "a: , b: , c: , e: , f: ", "\"A[a,b]\", \"B[b,c]\", \"C[c,e]\", \"D[e,f]\"",
      {"AB[a,c] = contract over b (A, B)", "ABC[a,e] = contract over c (AB, C)", "O[a,f] = contract over e (ABC, D)"},
      "O");
  const Diagram other = reassociated(d, sizes(d, {{"a", 30}, {"b", 35}, {"c", 15}, {"e", 5}, {"f", 10}}));
  // (A (B C)) D: 35*15*5 + 30*35*5 + 30*5*10 = 9,375 against 15,750 + 2,250 + 1,500 = 19,500 as written.
  REQUIRE(other.rewritings.size() == 1);
  CHECK(other.rewritings[0].find("481 in 1000") != std::string::npos);
}

TEST_CASE("scales go along, and a mask between two products keeps them apart") {
  const Diagram d =
      written("q: , x: , d: , y: ", "\"Q[q,d]\", \"K[x,d]\", \"V[x,y]\"",
              {"S[q,x] = contract over d (Q, K) scale d^-1/2", "O[q,y] = contract over x (S, V) scale 3"}, "O");
  const Diagram other = reassociated(d, sizes(d, {{"q", 4096}, {"x", 4096}, {"d", 8}, {"y", 8}}));
  REQUIRE(other.rewritings.size() == 1);
  Scale expected{3, d.axis("d"), -1, 2};
  CHECK(other.operations.back().scale == expected);
  const Diagram masked = load_diagram("retention");
  CHECK(reassociated(masked, sizes(masked, {{"q", 4096}, {"d", 8}})).rewritings.empty());
}

}  // namespace test_rewrite
