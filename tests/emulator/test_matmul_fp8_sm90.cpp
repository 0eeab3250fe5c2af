// matmul_fp8_sm90 on the emulator: its own source, compiled as C++.
#include "tests/emulator/running.hpp"

namespace test_matmul_fp8_sm90 {

using namespace napkin;

TEST_CASE("matmul_fp8_sm90: chunks, running sums, scales and parts come out right, launch after launch") {
  const std::vector<test::CorrectnessCase> cases = test::fp8_product_cases();
  CHECK(cases.size() >= 120);
  std::uint64_t seed = 0;
  for (const test::CorrectnessCase& one : cases) {
    CAPTURE(test::describe_case(one).dump());
    test::EmulatedProblem problem(one, 1 + static_cast<int>(seed % 4));
    const test::EmulatedRun run = problem.run(++seed, 64), again = problem.run(seed + 1000, 1);
    CHECK(run.outcome.error == "");
    CHECK(run.guard == "");
    CHECK(run.comparison.max_error <= 2 * run.comparison.reference_error + 1e-5);
    CHECK(run.comparison.good());
    CHECK(again.outcome.error == "");
    CHECK(again.output == run.output);
  }
}

TEST_CASE("matmul_fp8_sm90: small shapes come out right") { test::check_cases("matmul_fp8_sm90", 30); }

TEST_CASE("matmul_fp8_sm90: bits do not hang on the seed") { test::check_seeds("matmul_fp8_sm90", 4, 3); }

}  // namespace test_matmul_fp8_sm90
