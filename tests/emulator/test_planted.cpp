// Bugs planted in copies of the kernels' sources: the emulator finds each.
#include <doctest/doctest.h>

#include "tests/emulator/backward_problem.hpp"
#include "tests/emulator/bytes_problem.hpp"
#include "tests/emulator/decode_problem.hpp"
#include "tests/emulator/planted.hpp"
#include "tests/emulator/running.hpp"

namespace test_planted {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("every planted bug is found") {
  for (const test::PlantedBug& bug : test::planted_bugs()) {
    CAPTURE(bug.name);
    int found = 0, said = 0;
    const auto judge = [&](const std::string& error, bool good) {
      found += good ? 0 : 1;
      said += !error.empty() && error.find(bug.complaint) != std::string::npos ? 1 : 0;
      said += error.empty() && bug.complaint == "numbers" && !good ? 1 : 0;
    };
    const auto try_seeds = [&](auto& problem) {
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const test::EmulatedRun run = problem.run(seed, 16, bug.name);
        judge(first_of({run.outcome.error, run.guard, run.comparison.beside}), run.good());
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
    for (const test::NapkinCase& one : test::planted_napkin_cases(bug)) {
      test::NapkinProblem problem(one, 2);
      try_seeds(problem);
    }
    for (const test::DecodeCase& one : test::planted_decode_cases(bug)) {
      test::DecodeProblem problem(one);
      try_seeds(problem);
    }
    for (const test::BackwardConfiguration& c : test::planted_backward(bug)) {
      test::BackwardProblem problem(test::planted_backward_case(c));
      for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const test::BackwardRun run = problem.run(seed, bug.name);
        const std::string error = first_of({run.error, run.guard});
        judge(error, error.empty() && problem.compare(run).good());
      }
    }
    CHECK(found > 0);
    CHECK(said > 0);
  }
}

}  // namespace test_planted
