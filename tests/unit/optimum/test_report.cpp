#include <doctest/doctest.h>

#include "model/diagram/text.hpp"
#include "model/fusion/derive.hpp"
#include "solver/optimum/report.hpp"

namespace test_report {

using namespace napkin;
using namespace napkin::internal;

namespace {

using Given = std::vector<std::pair<std::string, std::int64_t>>;

const char* const attention_text = R"(
algorithm: attention
axes: {b: 1, h: 1, g: 1, q: , x: , d: , dv: d}
inputs: ["Q[b,h,g,q,d]", "K[b,h,x,d]", "V[b,h,x,dv]"]
operations:
  - S[b,h,g,q,x] = contract over d (Q, K)
  - P[b,h,g,q,x] = softmax over x (S) scale d^-1/2 mask (q, x)
  - O[b,h,g,q,dv] = contract over x (P, V)
outputs: [O]
)";
const char* const matmul_text = R"(
algorithm: matmul
axes: {a: , b: , c: }
inputs: ["A[a,b]", "B[b,c]"]
operations:
  - C[a,c] = contract over b (A, B)
outputs: [C]
)";

struct Question {
  Streamed streamed;
  Problem problem;
};

Question ask(const char* text, const Given& sizes) {
  const Diagram d = parse_diagram(text, "test");
  return {derive(d), {resolve_sizes(d, sizes, "test"), {}, DType::value}};
}

double size(const std::vector<std::pair<std::string, double>>& group, const std::string& name) {
  for (const auto& [n, s] : group) {
    if (n == name) return s;
  }
  FAIL("no axis " << name);
  return 0;
}

}  // namespace

TEST_CASE("from the text of attention alone: H* = 2 q d + 4 q x d^2 / M") {
  const Question a = ask(attention_text, {{"q", 4096}, {"x", 8192}, {"d", 128}});
  const OptimumReport r = optimum_of(a.streamed, a.problem, Values(116224));
  REQUIRE(r.terms.size() == 2);
  CHECK(r.terms[0].beta == 0);
  CHECK(r.terms[0].alpha == doctest::Approx(2. * 4096 * 128));
  CHECK(r.terms[1].beta == doctest::Approx(1));
  CHECK(r.terms[1].alpha == doctest::Approx(4. * 8192 * 4096 * 128 * 128));
  CHECK(size(r.group, "q") == doctest::Approx(116224 / 256.));
  CHECK(r.formula.optimum == "2 q d + 4 q x d^2 / M");
  CHECK(r.formula.transfer == "2 q d + 2 q x d / g_q");
  CHECK(r.formula.memory == "2 g_q d + 2 s_x d");
  REQUIRE(r.integer);
  // M / 2d - 1 = 453 rows fit; ceil(4096 / 453) = 10 groups.
  CHECK(r.integer->transfer.value == 2 * 4096 * 128 + 10 * 2 * 8192 * 128);
  CHECK(r.integer->group.back() == std::pair<std::string, Count>("q", 453));
  CHECK(r.ratio >= 1);
}

TEST_CASE("from the text of matmul alone: H* = a c + 2 a b c / M^(1/2)") {
  const Question m = ask(matmul_text, {{"a", 480}, {"b", 480}, {"c", 480}});
  const OptimumReport r = optimum_of(m.streamed, m.problem, Values(1024));
  CHECK(r.formula.optimum == "a c + 2 a b c / M^(1/2)");
  CHECK(r.formula.memory == "g_a s_b + s_b g_c + g_a g_c");
  CHECK(r.formula.transfer == "a b c / g_c + a b c / g_a + a c");
  CHECK(r.integer->transfer.value == 7'372'800);
  CHECK(r.integer->group == std::vector<std::pair<std::string, Count>>{{"a", 30}, {"c", 32}});
  CHECK(r.ratio == doctest::Approx(7'372'800 / (2 * 480. * 480 * 480 / 32 + 480 * 480)));
}

TEST_CASE("heads, query groups and another value size come out of the same text") {
  Question a = ask(attention_text, {{"b", 2}, {"h", 4}, {"g", 8}, {"q", 512}, {"x", 512}, {"d", 64}});
  CHECK(optimum_of(a.streamed, a.problem, Values(8192)).formula.optimum == "2 b h g q d + 4 b h g q x d^2 / M");
  // Decode: K and V once per key/value head, whatever g.
  a = ask(attention_text, {{"g", 8}, {"q", 1}, {"x", 512}, {"d", 64}});
  const OptimumReport r = optimum_of(a.streamed, a.problem, Values(8192));
  CHECK(r.formula.optimum == "2 g q d + 2 x d");
  CHECK(r.integer->transfer.value == 2 * 8 * 64 + 2 * 512 * 64);
  CHECK(r.ratio == doctest::Approx(1));
  a = ask(attention_text, {{"q", 512}, {"x", 512}, {"d", 64}, {"dv", 32}});
  CHECK(optimum_of(a.streamed, a.problem, Values(8192)).formula.optimum == "q d + q dv + q x (d + dv)^2 / M");
}

TEST_CASE("a three-axis diagram that nobody built in: exponent 2/3") {
  const Question t = ask(R"(
algorithm: three
axes: {i: , j: , k: , b: }
inputs: ["A[i,b]", "B[j,b]", "C[k,b]"]
operations:
  - T[i,j,k] = contract over b (A, B, C)
outputs: [T]
)",
                         {{"i", 300}, {"j", 200}, {"k", 100}, {"b", 50}});
  const OptimumReport r = optimum_of(t.streamed, t.problem, Values(4096));
  CHECK(r.formula.optimum == "i j k + 3 i j k b / M^(2/3)");
  CHECK(r.terms.back().beta == doctest::Approx(2. / 3));
  CHECK(r.integer);
  CHECK(r.ratio >= 1);
}

TEST_CASE("bytes: per-array weights and a memory in bytes") {
  const Question m = ask(matmul_text, {{"a", 4096}, {"b", 4096}, {"c", 4096}});
  std::vector<double> weight(m.streamed.diagram.arrays.size(), 2);
  const double plain = closed_form(program_of(m.streamed, m.problem), 116224).transfer;
  CHECK(closed_form(program_of(m.streamed, m.problem, weight), 232448).transfer == doctest::Approx(2 * plain));
}

TEST_CASE("the compiled memory rule is the model's memory") {
  const Question a = ask(attention_text, {{"g", 3}, {"q", 65}, {"x", 33}, {"d", 7}, {"dv", 5}});
  for (ColumnView view : {ColumnView::drawn, ColumnView::live}) {
    const MemoryRule rule(a.streamed, a.problem.sizes, view);
    for (std::int64_t q : {1, 2, 7, 40, 65}) {
      for (std::int64_t g : {1, 2, 3}) {
        for (std::int64_t s : {1, 7, 33}) {
          const Partition p = make_partition(a.streamed, a.problem.sizes, {{"q", q}, {"g", g}, {"x", s}}, "test");
          CHECK(rule(std::vector<Count>{1, 1, g, q}, s) == memory(a.streamed, p, view).value);
        }
      }
    }
  }
}

TEST_CASE("the exact problem's H is the model's transfer") {
  const Question a = ask(attention_text, {{"h", 2}, {"g", 3}, {"q", 65}, {"x", 33}, {"d", 7}});
  const IntegerProblem p = integer_problem_of(a.streamed, a.problem, Values(1000));
  for (std::int64_t q : {1, 2, 7, 40, 65}) {
    for (std::int64_t g : {1, 2, 3}) {
      const Partition part = make_partition(a.streamed, a.problem.sizes, {{"q", q}, {"g", g}}, "test");
      CHECK(transfer_of(p, std::vector<Count>{1, 1, g, q}) == transfer(a.streamed, a.problem, part).total().value);
    }
  }
}

TEST_CASE("under a causal mask the integer optimum is that of trying every partition") {
  // The masked axis after the other grouped axis, before it, and before one that K and V have.
  std::string swapped = attention_text;
  swapped.replace(swapped.find("g: 1, q: "), 9, "q: , g: 1");
  std::string separate = swapped;
  separate.replace(separate.find("K[b,h,x,d]"), 10, "K[b,h,g,x,d]");
  separate.replace(separate.find("V[b,h,x,dv]"), 11, "V[b,h,g,x,dv]");
  for (const std::string& text : {std::string(attention_text), swapped, separate}) {
    Question a = ask(text.c_str(), {{"g", 6}, {"q", 37}, {"x", 41}, {"d", 4}});
    a.problem.mask = {Mask::Kind::causal, 0, 0};
    for (std::int64_t limit : {20, 60, 100, 333, 900}) {
      const OptimumReport r = optimum_of(a.streamed, a.problem, Values(limit));
      Count least = -1;
      for (std::int64_t q = 1; q <= 37; ++q) {
        for (std::int64_t g = 1; g <= 6; ++g) {
          const Partition p = make_partition(a.streamed, a.problem.sizes, {{"q", q}, {"g", g}}, "test");
          if (memory_lower_bound(a.streamed, p).value > limit) continue;
          const Count h = transfer(a.streamed, a.problem, p).total().value;
          if (least < 0 || h < least) least = h;
        }
      }
      REQUIRE(r.integer);
      CHECK(r.integer->transfer.value == least);
    }
  }
}

TEST_CASE("too little memory: no integer optimum, no ratio") {
  const Question a = ask(attention_text, {{"q", 64}, {"x", 64}, {"d", 64}});
  const OptimumReport r = optimum_of(a.streamed, a.problem, Values(255));
  CHECK_FALSE(r.fits);
  CHECK_FALSE(r.integer);
  CHECK(r.ratio == 0);
  CHECK(optimum_of(a.streamed, a.problem, Values(256)).fits);
}

}  // namespace test_report
