#pragma once
// What every kernel has to show on the emulator.

#include <doctest/doctest.h>

#include <string>

#include "tests/emulator/problem.hpp"
#include "tests/kernel/correctness_run.hpp"

namespace napkin::test {

constexpr std::int64_t most_products = 3'000'000;  ///< of a recorded case that is repeated here
constexpr std::size_t small_shapes = 3;            ///< of each variant

/// Each case with a seed of its own is right against float64; `then` may look further.
template <class Then>
void check_each(const std::vector<CorrectnessCase>& cases, const Then& then) {
  std::uint64_t seed = 0;
  for (const CorrectnessCase& one : cases) {
    CAPTURE(describe_case(one).dump());
    EmulatedProblem problem(one, 1 + static_cast<int>(seed % 4));
    const EmulatedRun run = problem.run(++seed, 64);
    CHECK(run.outcome.error == "");
    CHECK(run.guard == "");
    CHECK(run.comparison.max_error <= 2 * run.comparison.reference_error + 1e-5);
    CHECK(run.comparison.good());
    then(problem, run, seed);
  }
}
inline void check_each(const std::vector<CorrectnessCase>& cases) {
  check_each(cases, [](EmulatedProblem&, const EmulatedRun&, std::uint64_t) {});
}

/// Recorded cases and small shapes of that kernel, each with a seed of its own, against float64.
inline void check_cases(const std::string& kernel, std::size_t at_least) {
  std::vector<CorrectnessCase> cases = repeated_cases(most_products);
  for (CorrectnessCase& one : small_cases(small_shapes)) cases.push_back(std::move(one));
  std::erase_if(cases, [&](const CorrectnessCase& one) { return one.kernel != kernel; });
  CHECK(cases.size() >= at_least);
  check_each(cases);
}

/// Each case twice: what a launch leaves behind is what the next one needs, and both give equal bits.
inline void check_twice(const std::vector<CorrectnessCase>& cases, std::size_t at_least) {
  CHECK(cases.size() >= at_least);
  check_each(cases, [](EmulatedProblem& problem, const EmulatedRun& run, std::uint64_t seed) {
    const EmulatedRun again = problem.run(seed + 1000, 1);
    CHECK(again.outcome.error == "");
    CHECK(again.output == run.output);
  });
}

/// The bits of a result do not hang on what the hardware is free to choose, nor does what was moved.
inline void check_seeds(const std::string& kernel, std::uint64_t seeds, std::size_t every) {
  std::vector<CorrectnessCase> cases = small_cases(1);
  std::erase_if(cases, [&](const CorrectnessCase& one) { return one.kernel != kernel; });
  for (std::size_t i = 0; i < cases.size(); i += every) {
    CAPTURE(describe_case(cases[i]).dump());
    EmulatedProblem problem(cases[i]);
    const EmulatedRun first = problem.run(1000, 4);
    REQUIRE(first.outcome.error == "");
    for (std::uint64_t seed = 1001; seed < 1000 + seeds; ++seed) {
      const EmulatedRun other = problem.run(seed, 4);
      REQUIRE(other.outcome.error == "");
      REQUIRE(other.output == first.output);
      REQUIRE(other.outcome.counters.box_bytes == first.outcome.counters.box_bytes);
      REQUIRE(other.outcome.counters.products == first.outcome.counters.products);
    }
  }
}

}  // namespace napkin::test
