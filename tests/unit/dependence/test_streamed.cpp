// The streamed program as a loop nest: it computes the diagram's outputs, and its own dependences agree with the
// labels: grouped axes are parallel loops, the streamed axis carries what is maintained.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "model/dependence/execute.hpp"
#include "model/dependence/from_streamed.hpp"
#include "model/dependence/graph.hpp"
#include "model/dependence/order.hpp"
#include "model/dependence/text.hpp"
#include "model/dependence/traffic.hpp"
#include "model/diagram/library.hpp"
#include "model/diagram/text.hpp"
#include "model/fusion/derive.hpp"
#include "model/fusion/partition.hpp"
#include "tests/unit/diagram/random_diagram.hpp"

namespace test_streamed {

namespace {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::dependence;

void agree(const Streamed& streamed) {
  const std::vector<std::string> apart = disagreements(streamed);
  CAPTURE(print(streamed.diagram));
  CHECK_MESSAGE(apart.empty(), joined(apart, "; "));
}

// Visits every choice of roles that derive() accepts for a diagram of few axes.
template <class F>
int for_all_roles(const Diagram& d, F&& f) {
  int legal = 0;
  std::vector<AxisRole> roles(d.axes.size(), AxisRole::whole);
  const AxisRole choices[] = {AxisRole::whole, AxisRole::group, AxisRole::stream, AxisRole::split};
  std::size_t count = 1;
  for (std::size_t i = 0; i < roles.size(); ++i) count *= 4;
  for (std::size_t code = 0; code < count; ++code) {
    std::size_t rest = code, streams = 0;
    for (AxisRole& role : roles) {
      role = choices[rest % 4];
      rest /= 4;
      streams += role == AxisRole::stream ? 1 : 0;
    }
    if (streams > 1) continue;
    try {
      const Streamed streamed = derive(d, roles);
      ++legal;
      f(streamed);
    } catch (const Error&) {  // illegal roles
    }
  }
  return legal;
}

Diagram small_attention() {
  return parse_diagram(
      "algorithm: small\naxes: {q: , x: , d: }\ninputs: [\"Q[q,d]\", \"K[x,d]\", \"V[x,d]\"]\noperations:\n"
      "  - S[q,x] = contract over d (Q, K)\n  - P[q,x] = softmax over x (S) scale d^-1/2\n"
      "  - O[q,d] = contract over x (P, V)\noutputs: [O]\n",
      "small.yaml");
}

TEST_CASE("every built-in diagram: dependences agree with the default labels") {
  for (const std::string& name : builtin_diagrams()) {
    CAPTURE(name);
    agree(derive(load_diagram(name)));
  }
}

TEST_CASE("rows that a table names wait for its entries") {
  for (const std::string name : {"paged_attention", "mixture_of_experts", "mixture_of_experts_combine"}) {
    CAPTURE(name);
    const Diagram d = load_diagram(name);
    const Nest nest = nest_of(derive(d)).nest;
    const std::vector<Dependence> all = dependences(nest);
    for (const Array& array : d.arrays) {
      for (const ArrayId table : tables_of(array)) {
        const std::string entries = d.arrays[static_cast<std::size_t>(table)].name + "_low", rows = array.name + "_low";
        const auto waits = [&](const Dependence& one) {
          const auto& from = nest.statements[static_cast<std::size_t>(one.from)].target;
          const auto& to = nest.statements[static_cast<std::size_t>(one.to)].target;
          return one.kind == dependence::Kind::raw && from.array == entries && to.array == rows;
        };
        CHECK_MESSAGE(std::any_of(all.begin(), all.end(), waits), rows);
      }
    }
  }
}

TEST_CASE("every legal choice of roles agrees, splits included") {
  int legal = 0, split = 0;
  const auto count = [&](const Streamed& s) {
    agree(s);
    for (AxisRole role : s.roles) split += role == AxisRole::split ? 1 : 0;
  };
  legal += for_all_roles(small_attention(), count);
  legal += for_all_roles(load_diagram("matmul"), count);
  legal += for_all_roles(load_diagram("softmax_contraction"), count);
  legal += for_all_roles(load_diagram("mlp"), count);
  CHECK(legal > 60);
  CHECK(split > 20);
}

TEST_CASE("random diagrams agree with their default labels") {
  std::uint32_t state = 12345;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<std::uint8_t> choices;
    for (int i = 0; i < 60; ++i) {
      state = state * 1664525U + 1013904223U;
      choices.push_back(static_cast<std::uint8_t>(state >> 24));
    }
    agree(derive(testing::DiagramMaker(choices).make()));
  }
}

TEST_CASE("a wrong label is found out: a consumed axis that is grouped without partial results") {
  Streamed wrong = derive(load_diagram("matmul"));
  const AxisId b = wrong.diagram.axis("b");
  wrong.roles[static_cast<std::size_t>(b)] = AxisRole::group;
  wrong.stream.reset();
  const std::vector<std::string> apart = disagreements(wrong);
  REQUIRE(apart.size() == 1);
  CHECK(apart[0].starts_with("axis b is grouped, but not parallel"));
}

TEST_CASE("re-association: the streamed axis of flash-decoding becomes parallel, its combine is sequential") {
  const Diagram d = load_diagram("softmax_contraction");
  const StreamedNest streamed = nest_of(derive(d, roles_of(d, {"q"}, "x")));
  const StreamedNest split = nest_of(derive(d, roles_of(d, {"q", "x"}, "")));
  const auto verdict = [](const StreamedNest& s, LoopId loop) {
    return loop_verdicts(s.nest, dependences(s.nest))[static_cast<std::size_t>(loop)].parallel;
  };
  CHECK_FALSE(verdict(streamed, *streamed.stream));
  const auto& x = split.grouped[static_cast<std::size_t>(d.axis("x"))];
  REQUIRE(x);
  CHECK(verdict(split, *x));
  int carried = 0;
  for (const LoopVerdict& v : loop_verdicts(split.nest, dependences(split.nest))) {
    if (split.nest.loops[static_cast<std::size_t>(v.loop)].name.starts_with("x_c")) carried += v.parallel ? 0 : 1;
  }
  CHECK(carried == 3);  // the maximum and the sum of the log-sum-exp, and the weighted sum
}

// Computes O = softmax(scale S) V for S = Q K^T by the definition.
double attention_output(const Given& given, std::int64_t n, std::int64_t q, std::int64_t column) {
  std::vector<double> scores;
  double top = -1e300, sum = 0, output = 0;
  for (std::int64_t x = 0; x < n; ++x) {
    double s = 0;
    for (std::int64_t d = 0; d < n; ++d) s += given("Q", {q, d}) * given("K", {x, d});
    scores.push_back(s / std::sqrt(static_cast<double>(n)));
    top = std::max(top, scores.back());
  }
  for (std::int64_t x = 0; x < n; ++x) {
    const double w = std::exp(scores[static_cast<std::size_t>(x)] - top);
    sum += w;
    output += w * given("V", {x, column});
  }
  return output / sum;
}

TEST_CASE("the nest computes attention under every legal choice of roles") {
  const Given given = arbitrary_values(5);
  const Given by_axes = [&](const std::string& array, const std::vector<std::int64_t>& at) {
    return given(array, {at[at.size() - 2], at[at.size() - 1]});
  };
  const int legal = for_all_roles(small_attention(), [&](const Streamed& s) {
    if (s.stream && s.grouped(*s.stream)) return;  // x in groups of chunks: another shape
    const StreamedNest made = nest_of(s);
    CAPTURE(print(made.nest));
    const Nest again = parse_nest(print(made.nest), "printed");
    CHECK(again == made.nest);
    std::int64_t iterations = 1;
    for (const Loop& l : made.nest.loops) iterations = std::min<std::int64_t>(iterations * l.size(), 1 << 24);
    if (iterations > 2'000'000) return;
    const Store store = execute(made.nest, by_axes);
    for (std::int64_t q = 0; q < 3; ++q) {
      for (std::int64_t d = 0; d < 3; ++d) {
        CHECK(store.at("O").at({q, d}) == doctest::Approx(attention_output(by_axes, 3, q, d)).epsilon(1e-12));
      }
    }
  });
  CHECK(legal > 5);
}

TEST_CASE("orders of attention's loops: groups outside, or the keys outside and the state on the move") {
  const Diagram d = small_attention();
  const StreamedNest made = nest_of(derive(d, roles_of(d, {"q"}, "x")));
  REQUIRE(made.outer == 2);
  const std::vector<Dependence> all = dependences(made.nest);
  const std::vector<Order> two = orders(made.nest, all, made.outer);
  REQUIRE(two.size() == 2);
  const std::size_t inner = made.nest.loops.size() - made.outer;
  const LoopTraffic queries_outside = traffic_of(made.nest, all, two[0].loops, inner);
  CHECK(two[0].legal());
  CHECK(queries_outside.load.get() == 3 * 3 + 2 * 3 * 3 * 3);  // Q once, K and V for every query
  CHECK(queries_outside.store.get() == 3 * 3);                 // O
  CHECK(two[1].legal());
  const LoopTraffic keys_outside = traffic_of(made.nest, all, two[1].loops, inner);
  CHECK(keys_outside.load.get() > queries_outside.load.get());
}

}  // namespace

}  // namespace test_streamed
