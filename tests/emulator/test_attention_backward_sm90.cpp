// attention_backward_sm90 on the emulator: its own source, compiled as C++.
#include <doctest/doctest.h>

#include "tests/emulator/backward_problem.hpp"
#include "tests/rounds.hpp"

namespace test_attention_backward_sm90 {

using namespace napkin;

TEST_CASE("attention_backward_sm90: gradients of small shapes are those of float64") {
  const std::vector<test::BackwardConfiguration> all = test::backward_configurations();
  CHECK(all.size() >= 16);
  std::size_t number = 0, cases = 0;
  for (const test::BackwardConfiguration& c : all) {
    for (int i = 0; i < test::rounds(7); ++i, number += 5) {
      const test::BackwardCase one = test::small_case(c, number);
      CAPTURE(c.d);
      CAPTURE(number);
      test::BackwardProblem problem(one);
      CAPTURE(problem.plans().gradients.expression);
      const test::BackwardRun run = problem.run(number);
      CHECK(run.error == "");
      CHECK(run.guard == "");
      if (!run.error.empty()) continue;
      const test::BackwardComparison compared = problem.compare(run);
      for (int k = 0; k < 3; ++k) {
        CAPTURE(k);
        CHECK(compared.error[k] <= compared.allowed(k));
      }
      CHECK(compared.unwritten == 0);
      CHECK(compared.strayed == 0);
      ++cases;
    }
  }
  CHECK(cases == all.size() * static_cast<std::size_t>(test::rounds(7)));
}

}  // namespace test_attention_backward_sm90
