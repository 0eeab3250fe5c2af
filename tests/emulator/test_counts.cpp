// The kernels' work on the emulator equals the model's counts: bytes as the receiver's counter sees them, products of
// visited tiles, exponentials.
#include <doctest/doctest.h>

#include <algorithm>

#include "kernels/plans/placement_reader.hpp"
#include "model/resource/resources.hpp"
#include "tests/emulator/backward_problem.hpp"
#include "tests/emulator/bytes_problem.hpp"
#include "tests/emulator/decode_problem.hpp"
#include "tests/emulator/running.hpp"

namespace test_counts {

using namespace napkin;
using namespace napkin::internal;

namespace {

LevelTransfer at_shared(const PlacedDiagram& placed) {
  for (const LevelTransfer& t : transfers(placed)) {
    if (t.level == placed.machine->level("shared")) return t;
  }
  return {};
}

std::int64_t number(const test::Knobs& tile, const std::string& knob) {
  for (const auto& [name, value] : tile) {
    if (name == knob) return std::stoll(value);
  }
  return 1;
}

bool has(const test::Knobs& tile, const std::pair<std::string, std::string>& knob) {
  return std::find(tile.begin(), tile.end(), knob) != tile.end();
}

/// Returns the mapping's count of a piece of work on that unit, if the tile has it.
double count_of(const PlacedDiagram& placed, const std::string& output, const std::string& work) {
  for (const OperationMapping& operation : placed.mapping->operations) {
    if (operation.output != output) continue;
    for (const WorkMapping& piece : operation.work) {
      if (piece.name == work) return piece.count;
    }
  }
  return 0;
}

/// Returns small dense shapes of every variant, with scores so small that a kept maximum is never replaced.
std::vector<test::CorrectnessCase> dense_cases() {
  std::vector<test::CorrectnessCase> out = test::small_cases(3);
  for (test::CorrectnessCase& one : out) {
    one.attention.gap = one.matmul.gap = 0;
    one.attention.deviation = 1;
  }
  return out;
}

}  // namespace

TEST_CASE("bytes, products and exponentials are those of the model") {
  int bytes_compared = 0, products_compared = 0;
  for (const test::CorrectnessCase& one : dense_cases()) {
    CAPTURE(test::describe_case(one).dump());
    test::EmulatedProblem problem(one);
    const test::EmulatedRun run = problem.run(1, 1);
    REQUIRE(run.outcome.error == "");
    const emulator::Counters& counted = run.outcome.counters;
    const Work expected = work(problem.placed());
    const std::int64_t products = static_cast<std::int64_t>(counted.products);
    CHECK(2 * products == expected.executed_flops.value.get());
    ++products_compared;
    // attention_sm80 loads padded heads at their own widths, fewer bytes than the model counts, and the number of
    // scores does not follow from products over padded widths.
    const bool padded = test::correctness::variant_of(one).expression.find(".padded = true") != std::string::npos;
    if (!padded) {
      CHECK(static_cast<std::int64_t>(counted.delivered) == at_shared(problem.placed()).delivered.value.get());
      ++bytes_compared;
    }
    if (one.kernel.starts_with("matmul") || padded) continue;

    // Warpgroups that divide O's columns make all scores, each for itself.
    const std::int64_t times = one.kernel == "attention_wide_sm90" ? number(one.tile, "warpgroups") : 1;
    // Counts an exponential for each score of a visited tile, and one for each row and chunk whose maximum is found, in
    // each of the four threads that share the row.
    const std::int64_t scores = products / (times * one.attention.sizes.d + one.attention.sizes.dv) * times,
                       chunk_rows = scores / number(one.tile, "x");
    CHECK(count_of(problem.placed(), "P", "exp") == 1);
    const std::int64_t others = static_cast<std::int64_t>(counted.exponentials) - scores;
    if (has(one.tile, {"rescale", "always"})) {
      CHECK(others == 4 * chunk_rows);
    } else {
      CHECK(others >= 0);
      CHECK(others <= 4 * chunk_rows);
    }
  }
  CHECK(products_compared > 500);
  CHECK(bytes_compared > 400);
}

namespace {

/// Checks that products and bytes are the model's, except for queries that blocks do not load since they see no key.
void check_work(const PlacedDiagram& placed, const emulator::Counters& counted, bool sees_all) {
  CHECK(2 * static_cast<std::int64_t>(counted.products) == work(placed).executed_flops.value.get());
  const auto delivered = static_cast<std::int64_t>(counted.delivered);
  const std::int64_t expected = at_shared(placed).delivered.value.get();
  if (sees_all)
    CHECK(delivered == expected);
  else
    CHECK(delivered <= expected);
}

}  // namespace

TEST_CASE("attention_decode_sm90: bytes, products and exponentials are those of the model") {
  int cases = 0;
  for (test::DecodeCase one : test::decode_cases(22)) {
    if (!one.lengths.empty() || one.sizes.x > 1000) continue;  // the model has one length of keys
    if (test::variant_of(one).expression.find(".padded = true") != std::string::npos) continue;
    one.deviation = 1;
    CAPTURE(test::describe(one));
    test::DecodeProblem problem(one);
    const test::EmulatedRun run = problem.run(1, 1);
    REQUIRE(run.outcome.error == "");
    const emulator::Counters& counted = run.outcome.counters;
    check_work(problem.placed(), counted, one.mask.kind == Mask::Kind::none);
    const auto scores = static_cast<std::int64_t>(counted.products) / (one.sizes.d + one.sizes.dv),
               others = static_cast<std::int64_t>(counted.exponentials) - scores;
    CHECK(others >= 0);
    if (one.sizes.x <= number(one.tile, "shared.x"))  // with more keys, weights of parts take exponentials too
      CHECK(others <= 4 * scores / number(one.tile, "x"));
    ++cases;
  }
  CHECK(cases > 60);
}

/// Runs each case of a kernel of e4m3 in one batch of equal sequences. `others(scores, tile)` returns its exponentials
/// besides one for each score. Returns the number of cases.
template <class Problem, class Case, class Others>
int check_bytes_kernel(const std::vector<Case>& all, const Others& others) {
  int cases = 0;
  for (Case one : all) {
    if (!one.layout.q_lengths.empty()) continue;
    one.layout.gap = 0;
    one.layout.log_sum_exp = false;  // P is summed in another way for it
    CAPTURE(test::describe(one));
    Problem problem(one);
    const test::EmulatedRun run = problem.run(1, 1);
    REQUIRE(run.outcome.error == "");
    const emulator::Counters& counted = run.outcome.counters;
    const AttentionSizes& s = one.layout.sizes;
    check_work(problem.placed(), counted, one.layout.mask.kind == Mask::Kind::none || s.q <= s.x);
    const std::int64_t sums = PlacementReader(problem.placed()).word("accumulate") == "with_sums" ? 8 : 0;
    const auto scores = static_cast<std::int64_t>(counted.products) / (s.d + s.dv + sums);
    CHECK(static_cast<std::int64_t>(counted.exponentials) == scores + others(scores, one.tile));
    ++cases;
  }
  return cases;
}

TEST_CASE("attention_fp8_sm90: bytes, products and exponentials are those of the model") {
  // There is an exponential a row and chunk in each of the four threads that have the row.
  const auto others = [](std::int64_t scores, const auto& tile) { return 4 * scores / number(tile, "x"); };
  CHECK(check_bytes_kernel<test::Fp8Problem>(test::fp8_cases(8), others) >= 80);
}

TEST_CASE("napkin_fp8_sm90: bytes, products and exponentials are those of the model") {
  // There is an exponential a row and subloop in the one thread that has the row.
  const auto others = [](std::int64_t scores, const auto& tile) { return scores / number(tile, "u_x"); };
  CHECK(check_bytes_kernel<test::NapkinProblem>(test::napkin_cases(8), others) >= 70);
}

TEST_CASE("attention_backward_sm90: bytes, products and exponentials are those of the model") {
  int cases = 0;
  std::size_t number_of_case = 0;
  for (const test::BackwardConfiguration& c : test::backward_configurations()) {
    if (c.packed) continue;
    for (int i = 0; i < 2; ++i, number_of_case += 5) {
      test::BackwardCase one = test::small_case(c, number_of_case);
      AttentionSizes& s = one.layout.sizes;
      const std::int64_t tile = number(one.tile, "q");
      s.q =
          // rows of whole tiles: the kernel also copies the statistics of rows beyond the end
          (s.q + tile - 1) / tile * tile;
      s.x = std::max(s.x, s.q);  // every query sees a key, and every key is seen
      one.layout.gap = 0;
      CAPTURE(number_of_case);
      test::BackwardProblem problem(one);
      CAPTURE(problem.plans().gradients.expression);
      const test::BackwardRun run = problem.run(number_of_case);
      REQUIRE(run.error == "");
      check_work(problem.placed(), run.counters, one.layout.mask.kind != Mask::Kind::window);
      if (problem.plans().gradients.expression.find(".padded = true") != std::string::npos) continue;
      // S, dK and dQ contract or make d columns, dP and dV those of V.
      const auto scores = static_cast<std::int64_t>(run.counters.products) / (3 * s.d + 2 * s.dv);
      CHECK(static_cast<std::int64_t>(run.counters.exponentials) == scores);
      ++cases;
    }
  }
  CHECK(cases >= 26);
}

}  // namespace test_counts
