// Bugs planted in copies of the kernels' sources: the emulator finds each.
#include <doctest/doctest.h>

#include "tests/emulator/fp8_problem.hpp"
#include "tests/emulator/planted.hpp"
#include "tests/emulator/running.hpp"

namespace test_planted {

using namespace napkin;

TEST_CASE("every planted bug is found") {
  for (const test::PlantedBug& bug : test::planted_bugs()) {
    CAPTURE(bug.name);
    int found = 0, said = 0;
    const auto try_seeds = [&](auto& problem) {
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const test::EmulatedRun run = problem.run(seed, 16, bug.name);
        found += run.good() ? 0 : 1;
        const bool complains = !run.outcome.error.empty();
        said += complains && run.outcome.error.find(bug.complaint) != std::string::npos ? 1 : 0;
      }
    };
    for (const test::CorrectnessCase& one : test::planted_cases(bug)) {
      test::EmulatedProblem problem(one, 2);
      try_seeds(problem);
    }
    for (const test::Fp8Case& one : test::planted_fp8_cases(bug)) {
      test::Fp8Problem problem(one, 2);
      try_seeds(problem);
    }
    CHECK(found > 0);
    CHECK(said > 0);
  }
}

}  // namespace test_planted
