// Hard cases of softmax: large scores, rows that see nothing, one query, one key.
#include <doctest/doctest.h>

#include "tests/unit/interpret/helpers.hpp"

namespace test_softmax {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::testing;

namespace {

const Diagram with_state = parse_diagram(R"(
algorithm: attention_with_state
axes: {q: , x: , d: }
inputs: ["S[q,x]", "V[x,d]"]
operations:
  - P[q,x], L[q] = softmax over x (S) mask (q, x)
  - O[q,d] = contract over x (P, V)
outputs: [O, L]
)",
                                         "test");

// Runs O = softmax(S) V with the given scores, streamed, and checks the unfused run too.
Run run_scores(std::int64_t q, std::int64_t x, const std::vector<double>& scores, const Mask& mask, std::int64_t g,
               std::int64_t s, const std::vector<double>& values) {
  const Problem problem = problem_of(with_state, {{"q", q}, {"x", x}, {"d", 1}}, mask);
  const Streamed streamed = derive(with_state);
  const Partition p = make_partition(streamed, problem.sizes, {{"q", g}, {"x", s}}, "tile");
  const Tensors inputs{{"S", {{q, x}, scores}}, {"V", {{x, 1}, values}}};
  Run run = run_streamed(streamed, problem, p, inputs);
  CHECK(gap(run_unfused(with_state, problem, inputs).outputs, run.outputs) < 1e-14);
  return run;
}

}  // namespace

TEST_CASE("scores of +-1e4 stay finite and pick the largest") {
  for (std::int64_t s : {1, 2, 3, 5}) {
    const Run run = run_scores(1, 5, {-1e4, 1e4, 0, 1e4, -1e4}, {}, 1, s, {1, 2, 3, 4, 5});
    CHECK(run.outputs.at("O").data[0] == doctest::Approx(3.0));  // the mean of 2 and 4
    CHECK(run.outputs.at("L").data[0] == doctest::Approx(1e4 + std::log(2.0)));
    const Run falling = run_scores(1, 3, {1e4, 0, -1e4}, {}, 1, s, {7, 8, 9});
    CHECK(falling.outputs.at("O").data[0] == doctest::Approx(7.0));
    const Run low = run_scores(1, 3, {-1e4, -1e4, -1e4}, {}, 1, s, {7, 8, 9});
    CHECK(low.outputs.at("O").data[0] == doctest::Approx(8.0));
  }
}

TEST_CASE("a row that sees nothing: output 0, log-sum-exp -infinity") {
  const Mask causal{Mask::Kind::causal, 0, 0};
  // Four rows, two keys: rows 0 and 1 see nothing, row 2 sees key 0, row 3 both.
  for (std::int64_t g : {1, 3, 4}) {
    for (std::int64_t s : {1, 2}) {
      const Run run = run_scores(4, 2, {1, 2, 3, 4, 5, 6, 0, 0}, causal, g, s, {10, 20});
      CHECK(run.outputs.at("O").data == std::vector<double>{0, 0, 10, 15});
      const auto& lse = run.outputs.at("L").data;
      CHECK(lse[0] == -infinity);
      CHECK(lse[1] == -infinity);
      CHECK(lse[2] == 5);
      CHECK(lse[3] == doctest::Approx(std::log(2.0)));
    }
  }
}

TEST_CASE("one query, one key") {
  CHECK(run_scores(1, 1, {1e4}, {}, 1, 1, {3}).outputs.at("O").data[0] == 3);
  CHECK(run_scores(1, 1, {-1e4}, {Mask::Kind::causal, 0, 0}, 1, 1, {3}).outputs.at("L").data[0] == -1e4);
  CHECK(run_scores(1, 7, {1, 1, 1, 1, 1, 1, 1}, {}, 1, 3, {0, 1, 2, 3, 4, 5, 6}).outputs.at("O").data[0] ==
        doctest::Approx(3.0));
}

TEST_CASE("attention in 16 and 8 bits: accumulators in float32, storage rounded") {
  const Diagram d = load_diagram("attention");
  const Problem problem = problem_of(d, {{"q", 32}, {"x", 48}, {"d", 16}});
  const Tensors inputs = random_inputs(d, problem.sizes, 11);
  const Streamed s = derive(d);
  const Partition p = make_partition(s, problem.sizes, {{"q", 16}, {"x", 20}}, "tile");
  const Tensor exact = run_streamed(s, problem, p, inputs).outputs.at("O");
  double before = 0;
  for (const auto& [type, least, most] : {std::tuple{DType::f32, 0.0, 1e-6}, std::tuple{DType::f16, 1e-6, 2e-3},
                                          std::tuple{DType::bf16, 1e-5, 1e-2}, std::tuple{DType::e4m3, 1e-4, 1e-1}}) {
    const std::string name(name_of(type));
    CAPTURE(name);
    RunOptions options;
    options.precision.storage = type;
    const Tensor found = run_streamed(s, problem, p, inputs, options).outputs.at("O");
    const double error = difference(exact, found) / largest(exact);
    CHECK(error > least);
    CHECK(error < most);
    CHECK(error > before);
    before = error;
    CHECK(difference(exact, run_unfused(d, problem, inputs, options.precision).outputs.at("O")) / largest(exact) <
          2 * most);
  }
}

TEST_CASE("storage types by array: scores that overflow f16 where they are stored, and not where they are not") {
  const Diagram d = load_diagram("attention");
  const Problem problem = problem_of(d, {{"q", 2}, {"x", 4}, {"d", 4}});
  Tensors inputs = random_inputs(d, problem.sizes, 11);
  for (double& v : inputs.at("Q").data) v = 300;
  for (double& v : inputs.at("K").data) v = 300;  // scores 360,000, all equal
  const Streamed s = derive(d);
  const Partition p = make_partition(s, problem.sizes, {{"q", 2}, {"x", 2}}, "tile");
  RunOptions options;
  options.precision.storage = DType::f16;
  const Run run = run_streamed(s, problem, p, inputs, options);
  for (double v : run.outputs.at("O").data) CHECK(std::isfinite(v));
  options.precision.arrays["S"] = DType::f16;
  CHECK(std::isnan(run_streamed(s, problem, p, inputs, options).outputs.at("O").data[0]));  // infinity - infinity
}

}  // namespace test_softmax
