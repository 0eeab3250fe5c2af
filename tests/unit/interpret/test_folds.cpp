// Functions that an author defines, scans, and a softmax's maximum and sum: in chunks of any length they equal plain
// loops' results, and transfers and memory are those that the two rules predict.

#include <doctest/doctest.h>

#include <functional>

#include "model/fusion/pseudocode.hpp"
#include "tests/support/mistakes.hpp"
#include "tests/unit/diagram/folds.hpp"
#include "tests/unit/interpret/helpers.hpp"

namespace test_folds {

namespace {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::testing;

constexpr std::int64_t rows = 5, columns = 7;

using Row = std::vector<double>;

/// Runs a diagram of Y from X[q,x] and place[x] unfused and with all groups and chunks; each run must give `expected`
/// of each row, and have the predicted transfers and memory.
void compare(const Diagram& d, const std::function<Row(const Row&)>& expected) {
  const Problem problem = problem_of(d, {{"q", rows}, {"x", columns}});
  Tensors inputs = random_inputs(d, problem.sizes, 5);
  if (inputs.count("place") != 0) {
    for (std::size_t i = 0; i < inputs["place"].data.size(); ++i) inputs["place"].data[i] = static_cast<double>(i);
  }
  Tensor by_hand = filled(shape_of(d.arrays[at(d.outputs[0])], problem.sizes), 0);
  std::size_t next = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto first = inputs["X"].data.begin() + row * columns;
    for (double v : expected(Row(first, first + columns))) by_hand.data[next++] = v;
  }
  REQUIRE(next == by_hand.data.size());
  CHECK(difference(run_unfused(d, problem, inputs).outputs.at("Y"), by_hand) <= 1e-12);
  const Streamed streamed = derive(d);
  REQUIRE(streamed.stream == d.axis("x"));
  for (std::int64_t group = 1; group <= rows; ++group) {
    for (std::int64_t chunk = 1; chunk <= columns; ++chunk) {
      const Partition partition = make_partition(streamed, problem.sizes, {{"q", group}, {"x", chunk}}, "tile");
      const Run run = run_streamed(streamed, problem, partition, inputs);
      CHECK(difference(run.outputs.at("Y"), by_hand) <= 1e-12);
      const Transfer predicted = transfer(streamed, problem, partition);
      CHECK(run.counts.levels.front().loaded() == predicted.load.value);
      CHECK(run.counts.levels.front().stored() == predicted.store.value);
      CHECK(run.counts.levels.front().peak == memory_live(streamed, partition).value);
    }
  }
}

Row scanned(const Row& row, const std::function<double(const Row&)>& of) {
  Row out;
  for (std::size_t n = 1; n <= row.size(); ++n) out.push_back(of(Row(row.begin(), row.begin() + static_cast<int>(n))));
  return out;
}
double sum_of(const Row& row) {
  double sum = 0;
  for (double v : row) sum += v;
  return sum;
}
double variance_of(const Row& row) {
  const double mean = sum_of(row) / static_cast<double>(row.size());
  double spread = 0;
  for (double v : row) spread += (v - mean) * (v - mean);
  return spread / static_cast<double>(row.size());
}
double log_sum_exp_of(const Row& row) {
  double sum = 0;
  for (double v : row) sum += std::exp(v);
  return std::log(sum);
}
double largest_at_of(const Row& row) {
  return static_cast<double>(std::max_element(row.begin(), row.end()) - row.begin());
}
double rise_of(const Row& row) { return row.back() - row.front(); }

Diagram one(const std::string& fold, const std::string& operation) {
  return with_folds(fold, "q: , x: ", "\"X[q,x]\"", operation, "Y");
}

}  // namespace

TEST_CASE("folds in chunks are what plain loops compute") {
  const auto alone = [](const std::function<double(const Row&)>& of) {
    return [of](const Row& row) { return Row{of(row)}; };
  };
  compare(one(variance, "Y[q] = fold variance over x (X)"), alone(variance_of));
  compare(one(log_sum_exp, "Y[q] = fold log_sum_exp over x (X)"), alone(log_sum_exp_of));
  compare(one(total, "Y[q] = fold total over x (X)"), alone(sum_of));
  compare(one(rise, "Y[q] = fold rise over x (X)"), alone(rise_of));
  compare(
      with_folds(largest_at, "q: , x: ", "\"X[q,x]\", \"place[x]\"", "Y[q] = fold largest_at over x (X, place)", "Y"),
      alone(largest_at_of));
}

TEST_CASE("scans in chunks are what plain loops compute, in any order of the axes") {
  const auto each = [](const std::function<double(const Row&)>& of) {
    return [of](const Row& row) { return scanned(row, of); };
  };
  compare(one(total, "Y[q,x] = scan total over x (X)"), each(sum_of));
  compare(one(variance, "Y[q,x] = scan variance over x (X)"), each(variance_of));
  compare(one(rise, "Y[q,x] = scan rise over x (X)"), each(rise_of));
}

TEST_CASE("a fold of what a product makes streams in one loop, and its state is held from head to tail") {
  const Diagram d = with_folds(largest_at, "t: , v: , d: ", "\"X[t,d]\", \"W[v,d]\", \"place[v]\"",
                               "Z[t,v] = contract over d (X, W)\n  - Y[t] = fold largest_at over v (Z, place)", "Y");
  const Streamed s = derive(d);
  REQUIRE(s.stream == d.axis("v"));
  REQUIRE(s.auxiliaries.size() == 2);
  CHECK(s.auxiliaries[0].name == "Y.top");
  const std::string program = print_pseudocode(s);
  CAPTURE(program);
  CHECK(program.find("Y.top[g_t] = -1e+300") != std::string::npos);
  CHECK(program.find("Y.at' = where(less(a.top, b.top), b.at, a.at)") != std::string::npos);
  CHECK(program.find("Y[g_t] = at") != std::string::npos);
  CHECK_FALSE(splittability(d, d.axis("v")).streamable);
  const Problem problem = problem_of(d, {{"t", 6}, {"v", 9}, {"d", 4}});
  const Partition partition = make_partition(s, problem.sizes, {{"t", 4}, {"v", 2}}, "tile");
  const Tensors inputs = random_inputs(d, problem.sizes, 2);
  const Run run = run_streamed(s, problem, partition, inputs);
  CHECK(difference(run.outputs.at("Y"), run_unfused(d, problem, inputs).outputs.at("Y")) <= 1e-12);
  CHECK(run.counts.levels[0].arrays[at(d.array("Z"))].stored == 0);
  CHECK(run.counts.levels.front().peak == memory_live(s, partition).value);
}

TEST_CASE("a softmax may yield its maximum and its sum, as FlashAttention-1 stores them") {
  const Diagram d = parse_diagram(
      "algorithm: flash_attention_1\naxes: {q: , x: , d: }\ninputs: [\"Q[q,d]\", \"K[x,d]\", \"V[x,d]\"]\noperations:\n"
      "  - S[q,x] = contract over d (Q, K)\n  - P[q,x], m[q], l[q] = softmax over x (S) scale d^-1/2 mask (q, x)\n"
      "  - O[q,d] = contract over x (P, V)\noutputs: [O, m, l]\n",
      "t.yaml");
  CHECK(parse_diagram(print(d), "again.yaml") == d);
  const Streamed s = derive(d);
  CHECK(print_pseudocode(s).find("m[g_q] = mu") != std::string::npos);
  CHECK(print_pseudocode(s).find("l[g_q] = z") != std::string::npos);
  CHECK(splittability(d, d.axis("x")).why.find("the log-sum-exp as the one second output") != std::string::npos);
  Attention reference{6, 8, 4, 4, {}, {}, {}};
  for (const Mask& mask : {Mask{}, Mask{Mask::Kind::causal, 0, 0}, Mask{Mask::Kind::window, 1, 0}}) {
    const Problem problem = problem_of(d, {{"q", 6}, {"x", 8}, {"d", 4}}, mask);
    const Tensors inputs = random_inputs(d, problem.sizes, 4);
    reference.Q = inputs.at("Q").data, reference.K = inputs.at("K").data, reference.V = inputs.at("V").data;
    Row lse;
    const Row expected = reference.outputs(mask, &lse);
    for (std::int64_t chunk = 1; chunk <= 8; ++chunk) {
      const Partition partition = make_partition(s, problem.sizes, {{"q", 4}, {"x", chunk}}, "tile");
      const Run run = run_streamed(s, problem, partition, inputs);
      CHECK(difference(run.outputs.at("O"), Tensor{{6, 4}, expected}) <= 1e-12);
      for (std::size_t i = 0; i < lse.size(); ++i)
        CHECK(run.outputs.at("m").data[i] + std::log(run.outputs.at("l").data[i]) == doctest::Approx(lse[i]));
      CHECK(run.counts.levels.front().stored() == transfer(s, problem, partition).store.value);
    }
  }
}

TEST_CASE("a softmax may stay normalised from chunk to chunk, as FlashAttention-1 writes it") {
  const std::string text =
      "algorithm: flash_attention_1\naxes: {q: , x: , d: }\ninputs: [\"Q[q,d]\", \"K[x,d]\", \"V[x,d]\"]\noperations:\n"
      "  - S[q,x] = contract over d (Q, K)\n  - P[q,x], L[q] = softmax normalised over x (S) scale d^-1/2 mask (q, x)\n"
      "  - O[q,d] = contract over x (P, V)\noutputs: [O, L]\n";
  const Diagram d = parse_diagram(text, "t.yaml");
  CHECK(parse_diagram(print(d), "again.yaml") == d);
  CHECK(test::refusal_of([&] {
          return parse_diagram(test::replaced(text, "normalised over", "normal over"), "t.yaml");
        }).find("unexpected 'normal'") != std::string::npos);
  const Streamed s = derive(d);
  const std::string program = print_pseudocode(s);
  CAPTURE(program);
  CHECK(program.find("delta *= z / z'; z = z'") != std::string::npos);
  CHECK(program.find("O /= z") == std::string::npos);
  for (const Mask& mask : {Mask{}, Mask{Mask::Kind::causal, 0, 0}, Mask{Mask::Kind::window, 1, 0}}) {
    const Problem problem = problem_of(d, {{"q", 6}, {"x", 8}, {"d", 4}}, mask);
    const Tensors inputs = random_inputs(d, problem.sizes, 4);
    const Run whole = run_unfused(d, problem, inputs);
    for (std::int64_t chunk = 1; chunk <= 8; ++chunk) {
      const Partition partition = make_partition(s, problem.sizes, {{"q", 4}, {"x", chunk}}, "tile");
      RunOptions options;
      options.observed = {"O"};
      // After each chunk O is the attention to the keys so far: its rows are means of those of V.
      options.observer = [&](const Observation& seen) {
        if (seen.phase == Phase::loop) CHECK(largest(seen.tensor) <= largest(inputs.at("V")) + 1e-12);
      };
      const Run run = run_streamed(s, problem, partition, inputs, options);
      CHECK(gap(whole.outputs, run.outputs) <= 1e-12);
      CHECK(run.counts.levels.front().peak == memory_live(s, partition).value);
    }
    // Keys are divided among groups: parts are combined by their log-sum-exps, as for a softmax.
    const Streamed split = derive(d, roles_of(d, {"q", "x"}, ""));
    const Partition parts = make_partition(split, problem.sizes, {{"q", 4}, {"x", 3}}, "tile");
    CHECK(gap(whole.outputs, run_streamed(split, problem, parts, inputs).outputs) <= 1e-12);
  }
}

TEST_CASE("roles of the text are taken, and what has none is chosen as ever") {
  const auto with = [](const std::string& roles) {
    return derive(parse_diagram("algorithm: t\naxes: {q: , x: , d: }\n" + roles +
                                    "inputs: [\"Q[q,d]\", \"K[x,d]\"]\noperations:\n"
                                    "  - S[q,x] = contract over d (Q, K)\n  - P[q,x] = map exp (S)\noutputs: [P]\n",
                                "t.yaml"));
  };
  const auto role = [](const Streamed& s, const char* axis) { return s.roles[at(s.diagram.axis(axis))]; };
  const Streamed chosen = with("");
  CHECK(role(chosen, "q") == AxisRole::group);
  CHECK(role(chosen, "d") == AxisRole::stream);
  const Streamed held = with("roles: {d: whole}\n");
  CHECK_FALSE(held.stream.has_value());
  const Streamed walked = with("roles: {x: stream}\n");
  CHECK(walked.stream == walked.diagram.axis("x"));
  CHECK(role(walked, "d") == AxisRole::whole);
  CHECK(role(with("roles: {q: whole}\n"), "q") == AxisRole::whole);
  CHECK(test::refusal_of([&] { return with("roles: {d: group}\n"); }).find("axis d cannot be grouped") !=
        std::string::npos);
}

}  // namespace test_folds
