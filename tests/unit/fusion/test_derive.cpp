// The fusion theorem: axes that stream, and axes that cannot with the reason, for diagrams of the sources and for
// others.

#include <doctest/doctest.h>

#include <limits>
#include <random>

#include "model/diagram/library.hpp"
#include "model/diagram/text.hpp"
#include "model/fusion/derive.hpp"
#include "model/fusion/partition.hpp"
#include "model/fusion/pseudocode.hpp"
#include "tests/support/mistakes.hpp"
#include "tests/unit/diagram/random_diagram.hpp"
#include "tests/unit/diagram/written.hpp"

namespace test_derive {

namespace {

using namespace napkin;
using namespace napkin::internal;
using napkin::internal::testing::written;

std::string role_of(const Streamed& s, const std::string& axis) {
  switch (s.roles[static_cast<std::size_t>(s.diagram.axis(axis))]) {
    case AxisRole::whole: return "whole";
    case AxisRole::group: return "group";
    case AxisRole::stream: return "stream";
    case AxisRole::split: return "split";
  }
  return {};
}

std::string roles_text(const Streamed& s) {
  std::vector<std::string> words;
  for (const Axis& a : s.diagram.axes) words.push_back(a.name + " " + role_of(s, a.name));
  return joined(words);
}

std::string refusal(const Diagram& d, const std::vector<std::string>& grouped, const std::string& streamed) {
  return test::refusal_of([&] { return derive(d, roles_of(d, grouped, streamed)); });
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Returns the reason why the axis does not stream, or "".
std::string why(const Diagram& d, const std::string& axis) {
  const Streamability s = streamability(d, d.axis(axis));
  return s.streamable ? "" : s.why;
}

TEST_CASE("the default labels of the built-in diagrams") {
  CHECK(roles_text(derive(load_diagram("attention"))) ==
        "b group, h group, g group, q group, x stream, d whole, dv whole");
  CHECK(roles_text(derive(load_diagram("matmul"))) == "a group, b stream, c group");
  CHECK(roles_text(derive(load_diagram("mlp"))) == "m group, k whole, h stream, n whole");
  CHECK(roles_text(derive(load_diagram("softmax_contraction"))) == "q group, x stream, d whole");
  CHECK(roles_text(derive(load_diagram("attention_backward"))) ==
        "b group, h group, q stream, g whole, x whole, d whole, dv whole");
}

TEST_CASE(
    "an elementwise result that lacks an axis is computed in each of its groups; a product or an output keeps the axis "
    "whole") {
  CHECK(roles_text(derive(load_diagram("alibi_attention"))) ==
        "b group, h group, q group, x stream, d whole, dv whole");
  CHECK(roles_text(derive(load_diagram("int4_matmul"))) == "m group, u stream, r whole, n group");
  CHECK(role_of(derive(load_diagram("cosine_attention")), "q") == "group");  // keys' lengths are sums without q
  CHECK(role_of(derive(load_diagram("mlp")), "n") == "whole");               // the hidden values are products without n
  const auto roles = [](const std::string& outputs) {
    return roles_text(
        derive(written("q: , x: , d: ", "'Q[q,d]', 'K[x,d]', 'w[x]'",
                       {"B[x] = map exp (w)", "S[q,x] = contract over d (Q, K)", "Z[q,x] = add (S, B)"}, outputs)));
  };
  CHECK(roles("Z").find("q group") != std::string::npos);
  CHECK(roles("Z, B").find("q whole") != std::string::npos);
}

TEST_CASE("attention: what each operation becomes") {
  const Streamed s = derive(load_diagram("attention"));
  REQUIRE(s.operations.size() == 3);
  CHECK(s.operations[0].accumulator == AccumulatorKind::concatenate);
  CHECK(s.operations[1].accumulator == AccumulatorKind::online_softmax);
  CHECK(s.operations[2].accumulator == AccumulatorKind::sum);
  CHECK(s.operations[2].rescaled_by == OpId{1});
  CHECK(s.operations[2].normalised_in_tail);
  CHECK(s.maintained == std::vector<ArrayId>{s.diagram.array("O")});
  CHECK(s.persistent == std::vector<ArrayId>{s.diagram.array("Q")});
  REQUIRE(s.auxiliaries.size() == 3);
  CHECK(s.auxiliaries[0].name == "mu");
  CHECK(s.auxiliaries[0].initial == -std::numeric_limits<double>::infinity());
  CHECK(s.auxiliaries[0].axes.size() == 4);
  REQUIRE(s.skips);
  CHECK(initial_value(s, s.diagram.array("O")) == 0);
}

TEST_CASE("a bare softmax is refused, and the reason says why") {
  const Diagram d = written("q: , x: ", "'S[q,x]'", {"P[q,x] = softmax over x (S)"}, "P");
  CHECK(why(d, "x") ==
        "softmax over x ends with an output that carries x: every chunk of P stays unnormalised until the last one is "
        "seen, so all of it would have to be kept; contract or sum P over x in the same kernel");
  CHECK(refusal(d, {}, "x").starts_with("t.yaml:5:5: axis x cannot stream: softmax over x ends"));
  CHECK(roles_text(derive(d)) == "q group, x whole");
  CHECK_FALSE(derive(d).stream);
  CHECK(derive(d).steps.back().rule == "not streamable");
}

TEST_CASE("what may follow a softmax before it is normalised, and what may not") {
  const auto after = [](const std::string& op, const std::string& outputs = "O") {
    return written("q: , x: , d: ", "'S[q,x]', 'V[x,d]', 'W[q,x]'",
                   {"P[q,x] = softmax over x (S)", op, "O[q,d] = contract over x (T, V)", "Y[q] = sum over x (W)"},
                   outputs + ", Y");
  };
  CHECK(why(after("T[q,x] = map negate (P)"), "x").empty());
  CHECK(why(after("T[q,x] = map identity (P) scale 0.5"), "x").empty());
  CHECK(why(after("T[q,x] = multiply (P, W)"), "x").empty());
  CHECK(why(after("T[q,x] = copy (P)"), "x").empty());
  CHECK(why(after("T[q,x] = add (P, P)"), "x").empty());
  CHECK(contains(why(after("T[q,x] = add (P, W)"), "x"), "adds a finished and an unfinished term"));
  CHECK(contains(why(after("T[q,x] = subtract (W, P)"), "x"), "adds a finished and an unfinished term"));
  CHECK(contains(why(after("T[q,x] = multiply (P, P)"), "x"), "multiplies two unfinished factors"));
  CHECK(contains(why(after("T[q,x] = map square (P)"), "x"), "map square (T) is not linear"));
  CHECK(contains(why(after("T[q,x] = softmax over x (P)"), "x"), "before the softmax of P is normalised"));
  CHECK(contains(why(after("T[q,x] = softmax over q (P)"), "x"), "before the softmax of P is normalised"));
  CHECK(contains(why(after("T[q,x] = map negate (P)", "O, T"), "x"), "every chunk of T stays unnormalised"));
}

TEST_CASE("a rescale a row cannot be made up for after the rows are summed") {
  const Diagram d = written("q: , x: , d: ", "'S[q,x]', 'V[x,d]'",
                            {"P[q,x] = softmax over x (S)", "T[d] = contract over q, x (P, V)"}, "T");
  CHECK(contains(why(d, "x"), "contract (T) sums over q, whose rows still need a rescale each"));
  const Diagram in_steps =
      written("q: , x: , d: ", "'S[q,x]', 'V[x,d]'",
              {"P[q,x] = softmax over x (S)", "O[q,d] = contract over x (P, V)", "T[d] = sum over q (O)"}, "T");
  CHECK(why(in_steps, "x").empty());
  CHECK(why(in_steps, "q").empty());
}

TEST_CASE("maximum and two softmaxes") {
  const Diagram largest = written("q: , x: ", "'S[q,x]'", {"M[q] = max over x (S)"}, "M");
  const Streamed s = derive(largest);
  CHECK(s.operations[0].accumulator == AccumulatorKind::max);
  CHECK(initial_value(s, s.diagram.array("M")) == -std::numeric_limits<double>::infinity());
  const Diagram of_softmax =
      written("q: , x: ", "'S[q,x]'", {"P[q,x] = softmax over x (S)", "M[q] = max over x (P)"}, "M");
  CHECK(contains(why(of_softmax, "x"), "max (M) is not linear"));
  const Diagram two = written("q: , x: , d: ", "'S[q,x]', 'T[q,x]', 'V[x,d]'",
                              {"P[q,x] = softmax over x (S)", "R[q,x] = softmax over x (T)",
                               "O[q,d] = contract over x (P, V)", "U[q,d] = contract over x (R, V)"},
                              "O, U");
  const Streamed both = derive(two);
  REQUIRE(both.auxiliaries.size() == 6);
  CHECK(both.auxiliaries[0].name == "mu.P");
  CHECK(both.auxiliaries[5].name == "z.R");
  CHECK(both.operations[3].rescaled_by == OpId{1});
  const Diagram mixed =
      written("q: , x: ", "'S[q,x]', 'T[q,x]'",
              {"P[q,x] = softmax over x (S)", "R[q,x] = softmax over x (T)", "O[q] = contract over x (P, R)"}, "O");
  CHECK(contains(why(mixed, "x"), "mixes two softmaxes"));
}

TEST_CASE("what needs the whole axis and a chunk of it at once takes two passes") {
  const Diagram normalise = written(
      "q: , x: ", "'S[q,x]'", {"Z[q] = sum over x (S)", "R[q] = map reciprocal (Z)", "P[q,x] = multiply (S, R)"}, "P");
  CHECK(why(normalise, "x") ==
        "multiply (P) needs R, which is right only after all of x, together with single chunks of x: that takes two "
        "passes over x");
  CHECK(contains(why(load_diagram("attention_backward"), "d"), "contract (dQ) needs dS"));
  const Diagram with_lse = written(
      "q: , x: , d: ", "'S[q,x]', 'V[x,d]'",
      {"P[q,x], L[q] = softmax over x (S)", "T[q,x] = subtract (S, L)", "O[q,d] = contract over x (P, V)"}, "O, T");
  CHECK(contains(why(with_lse, "x"), "subtract (T) needs L"));
}

TEST_CASE("the log-sum-exp, projections and residuals come in the tail") {
  const Diagram d = written("q: , x: , d: , e: ", "'S[q,x]', 'V[x,d]', 'W[d,e]', 'X[q,e]'",
                            {"P[q,x], L[q] = softmax over x (S)", "O[q,d] = contract over x (P, V)",
                             "Y[q,e] = contract over d (O, W)", "R[q,e] = add (Y, X)"},
                            "R, L");
  const Streamed s = derive(d);
  CHECK(s.operations[2].phase == Phase::tail);
  CHECK(s.operations[3].phase == Phase::tail);
  CHECK(print_pseudocode(s) == R"(for each group of q by g_q, in parallel:
  mu[g_q] = -infinity
  z[g_q] = 0
  O[g_q,d] = 0
  for each chunk s_x of x:
    load S[g_q,s_x]
    load V[s_x,d]
    mu' = max(mu, max over x of S)
    delta = exp(mu - mu'); mu = mu'
    P[g_q,s_x] = exp(S - mu)
    z = delta * z + sum over x of P
    O *= delta
    O += contract over x (P, V)      (may go in parts u_x of s_x: they add up)
  load W[d,e]
  load X[g_q,e]
  L[g_q] = mu + log z
  store L[g_q]
  O /= z      (rows with z = 0 stay 0)
  Y[g_q,e] = contract over d (O, W)      (may go in parts u_d of d: they add up)
  R[g_q,e] = add (Y, X)
  store R[g_q,e]
)");
  CHECK(s.persistent.empty());
}

TEST_CASE("linear attention: two contractions, neither needs the other's whole") {
  // O = Q (K^T V): T accumulates over x, O comes in the tail; over q, T is computed once in the head.
  const Diagram d = written("q: , x: , d: , e: ", "'Q[q,d]', 'K[x,d]', 'V[x,e]'",
                            {"T[d,e] = contract over x (K, V)", "O[q,e] = contract over d (Q, T)"}, "O");
  const Streamed over_x = derive(d, roles_of(d, {}, "x"));
  CHECK(over_x.operations[0].accumulator == AccumulatorKind::sum);
  CHECK(over_x.operations[1].phase == Phase::tail);
  const Streamed over_q = derive(d, roles_of(d, {}, "q"));
  CHECK(over_q.operations[0].phase == Phase::head);
  CHECK(over_q.operations[1].accumulator == AccumulatorKind::concatenate);
  CHECK(roles_text(derive(d)) == "q whole, x whole, d stream, e group");  // d: Q, K, T
  const Streamed grouped = derive(d, roles_of(d, {"q"}, "x"));
  CHECK(contains(print_steps(grouped), "T does not depend on q: every group of q computes it anew"));
  const Sizes sizes = resolve_sizes(d, {{"q", 10}, {"x", 20}, {"d", 3}, {"e", 4}}, "");
  const Partition p = make_partition(grouped, sizes, {{"q", 4}, {"x", 5}}, "");
  CHECK(transfer(grouped, {sizes, {}, DType::value}, p).load == Values(10 * 3 + 3 * (20 * 3 + 20 * 4)));
}

TEST_CASE("several accumulators, several outputs, an output that carries the stream") {
  const Diagram d = written(
      "q: , x: ", "'S[q,x]'",
      {"E[q,x] = map exp (S)", "Z[q] = sum over x (E)", "M[q] = max over x (S)", "F[q,x] = map negate (E)"}, "Z, M, F");
  const Streamed s = derive(d, roles_of(d, {"q"}, "x"));
  CHECK(s.maintained.size() == 2);
  CHECK(print_pseudocode(s) == R"(for each group of q by g_q, in parallel:
  Z[g_q] = 0
  M[g_q] = -infinity
  for each chunk s_x of x:
    load S[g_q,s_x]
    E[g_q,s_x] = map exp (S)
    Z += sum over x (E)      (may go in parts u_x of s_x: they add up)
    M = max(M, max over x (S))
    F[g_q,s_x] = map negate (E)
    store F[g_q,s_x]
  store Z[g_q]
  store M[g_q]
)");
}

TEST_CASE("a softmax over an axis that does not stream is an operation like any other") {
  const Diagram d = load_diagram("attention");
  const Streamed over_d = derive(d, roles_of(d, {"q"}, "d"));
  CHECK(over_d.operations[0].accumulator == AccumulatorKind::sum);
  CHECK(over_d.operations[1].phase == Phase::tail);
  CHECK(over_d.auxiliaries.empty());
  const Streamed over_dv = derive(d, roles_of(d, {"q"}, "dv"));
  CHECK(over_dv.operations[1].phase == Phase::head);
  CHECK(over_dv.operations[2].accumulator == AccumulatorKind::concatenate);
}

TEST_CASE("splits: sums, softmax-contractions and maxima combine; what is not linear in a part refuses") {
  const Diagram attention = load_diagram("attention");
  const Streamed s = derive(attention, roles_of(attention, {"q", "x"}, ""));
  CHECK(role_of(s, "x") == "split");
  CHECK(s.stream == attention.axis("x"));
  REQUIRE(s.combines.size() == 2);
  CHECK(s.combines[0].kind == Combine::Kind::weighted);
  CHECK(s.combines[1].kind == Combine::Kind::log_sum_exp);
  CHECK(s.diagram.outputs.size() == 2);
  CHECK(s.diagram.arrays.back().name == "lse_P");
  CHECK(contains(refusal(attention, {"d"}, ""), "axis d cannot be grouped: softmax (P) is not linear"));
  const Diagram matmul = load_diagram("matmul");
  const Streamed split_k = derive(matmul, roles_of(matmul, {"a", "c", "b"}, ""));
  REQUIRE(split_k.combines.size() == 1);
  CHECK(split_k.combines[0].kind == Combine::Kind::sum);
  const Diagram mlp = load_diagram("mlp");
  CHECK(contains(refusal(mlp, {"k"}, "h"), "map gelu (A) is not linear"));
  CHECK(refusal(mlp, {"m", "h"}, "") == "no error");
  const Diagram backward = load_diagram("attention_backward");
  const Streamed b = derive(backward, roles_of(backward, {"b", "h", "g", "x"}, "q"));
  CHECK(role_of(b, "x") == "split");
  CHECK(role_of(b, "g") == "split");
  REQUIRE(b.combines.size() == 3);  // dK and dV over g, dQ over x
  CHECK(b.skips);
  const Diagram largest = written("q: , x: ", "'S[q,x]'", {"M[q] = max over x (S)"}, "M");
  CHECK(derive(largest, roles_of(largest, {"x"}, "")).combines[0].kind == Combine::Kind::max);
  const Diagram bare = written("q: , x: ", "'S[q,x]'", {"P[q,x] = softmax over x (S)"}, "P");
  CHECK(contains(refusal(bare, {"x"}, ""), "axis x cannot be grouped: softmax over x ends"));
}

TEST_CASE("a log-sum-exp alone streams and splits") {
  const Diagram d = written("q: , x: ", "'S[q,x]'", {"P[q,x], L[q] = softmax over x (S)"}, "L");
  CHECK(role_of(derive(d), "x") == "stream");
  CHECK(derive(d).maintained.empty());
  const Streamed s = derive(d, roles_of(d, {"q", "x"}, ""));
  REQUIRE(s.combines.size() == 1);
  CHECK(s.combines[0].kind == Combine::Kind::log_sum_exp);
}

TEST_CASE("which axes split: those whose every combine is associative") {
  const Diagram d = load_diagram("attention");
  CHECK(splittability(d, d.axis("x")).streamable);
  CHECK(splittability(d, d.axis("q")).streamable);
  const Streamability over_d = splittability(d, d.axis("d"));
  CHECK_FALSE(over_d.streamable);
  CHECK(over_d.blocker == OpId{1});
}

TEST_CASE("roles that cannot be are refused by name") {
  const Diagram d = load_diagram("attention");
  CHECK(contains(refusal(d, {"z"}, ""), "no axis 'z'"));
  CHECK(contains(refusal(d, {"x"}, "x"), "grouped and streamed"));
  std::vector<AxisRole> roles(d.axes.size(), AxisRole::whole);
  roles[4] = roles[5] = AxisRole::stream;
  CHECK_THROWS_WITH_AS((void)derive(d, roles),
                       "attention: two streamed axes, x and d: at most one: group or keep whole "
                       "the other",
                       Error);
  CHECK_THROWS_AS((void)derive(d, std::vector<AxisRole>{}), Error);
}

TEST_CASE("a chunk is left out under a mask only where all that the loop does is zero there") {
  const auto masked = [](const std::vector<std::string>& more, const std::string& outputs) {
    std::vector<std::string> operations = {"P[q,x] = softmax over x (S) mask (q, x)",
                                           "O[q,d] = contract over x (P, V)"};
    operations.insert(operations.end(), more.begin(), more.end());
    const Diagram d = written("q: , x: , d: ", "'S[q,x]', 'V[x,d]'", operations, outputs);
    return derive(d, roles_of(d, {"q"}, "x")).skips.has_value();
  };
  CHECK(masked({}, "O"));
  CHECK(masked({"T[q] = sum over x (P)"}, "O, T"));
  CHECK_FALSE(masked({"T[d] = sum over x (V)"}, "O, T"));  // V is not masked
  CHECK_FALSE(masked({"T[q] = max over x (S)"}, "O, T"));  // nor is S
  CHECK_FALSE(masked({"T[q,x] = map exp (S)"}, "O, T"));   // a hidden chunk must be written all the same
  // The maximum of a row that sees nothing is 0; with chunks left out it would stay -infinity.
  CHECK_FALSE(masked({"E[q,x] = map exp (S) mask (q, x)", "T[q] = max over x (E)"}, "O, T"));
  CHECK(masked({"E[q,x] = map exp (S) mask (q, x)", "T[q] = sum over x (E)"}, "O, T"));
  CHECK_FALSE(masked({"R[q,x] = softmax over x (S)", "T[q] = contract over x (R, S)"}, "O, T"));
}

TEST_CASE("derive never throws anything but Error, and its program holds every load and store once") {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint8_t> choices(random() % 120);
    for (auto& c : choices) c = static_cast<std::uint8_t>(random());
    const Diagram d = testing::make_diagram(choices);
    CAPTURE(print(d));
    std::vector<AxisRole> roles(d.axes.size(), AxisRole::whole);
    if (round % 2 == 0) roles[random() % roles.size()] = AxisRole::stream;
    if (round % 3 != 0) roles[random() % roles.size()] = AxisRole::group;
    for (const bool given : {false, true}) {
      try {
        const Streamed s = given ? derive(d, roles) : derive(d);
        std::vector<int> moved(s.diagram.arrays.size(), 0);
        for (const auto* part : {&s.head, &s.loop, &s.tail}) {
          for (const Statement& statement : *part) {
            if (statement.kind == Statement::Kind::load || statement.kind == Statement::Kind::store) {
              ++moved[static_cast<std::size_t>(*statement.array)];
            }
          }
        }
        for (std::size_t i = 0; i < moved.size(); ++i) {
          const auto id = static_cast<ArrayId>(i);
          REQUIRE(moved[i] == (s.diagram.is_input(id) || s.diagram.is_output(id) ? 1 : 0));
        }
        REQUIRE_FALSE(columns(s, ColumnView::live).empty());
        REQUIRE_NOTHROW(check(s.diagram));
      } catch (const Error&) {
        REQUIRE(given);  // the default labels always derive
      }
    }
  }
}

}  // namespace

}  // namespace test_derive
