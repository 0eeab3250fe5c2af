#pragma once
// These functions check what every kernel has to fulfil on the emulator: check_bits that a result has equal bits with
// any seed.

#include <doctest/doctest.h>

#include <string>

#include "tests/emulator/problem.hpp"
#include "tests/kernel/correctness_run.hpp"
#include "tests/support/case_count.hpp"

namespace napkin::internal::test {

constexpr std::int64_t most_products = 3'000'000;  ///< multiply-adds of a recorded case that is repeated here, at most
constexpr std::size_t small_shapes = 3;            ///< small shapes of each variant

/// Returns the SMs of the emulated device: few, so that blocks compute several tiles, or enough for one block a tile,
/// so that a write to another tile's row is found.
inline int sms_of(std::uint64_t seed) { return seed % 3 == 2 ? 64 : 1 + static_cast<int>(seed % 4); }

/// Checks that each case, with a seed of its own, agrees with float64; `then` makes further checks.
template <class Then>
void check_each(const std::vector<CorrectnessCase>& cases, const Then& then) {
  std::uint64_t seed = 0;
  for (const CorrectnessCase& one : share_of(cases)) {
    CAPTURE(describe_case(one).dump());
    EmulatedProblem problem(one, sms_of(seed));
    const EmulatedRun run = problem.run(++seed, 64);
    CHECK(run.outcome.error == "");
    CHECK(run.guard == "");
    CHECK(run.comparison.beside == "");
    CHECK(run.comparison.max_error <= 2 * run.comparison.reference_error + 1e-5);
    CHECK(run.comparison.good());
    then(problem, run, seed);
  }
}
inline void check_each(const std::vector<CorrectnessCase>& cases) {
  check_each(cases, [](EmulatedProblem&, const EmulatedRun&, std::uint64_t) {});
}

/// Compares recorded cases and small shapes of that kernel, each with a seed of its own, with float64.
inline void check_cases(const std::string& kernel, std::size_t at_least) {
  std::vector<CorrectnessCase> cases = repeated_cases(most_products);
  for (CorrectnessCase& one : small_cases(small_shapes)) cases.push_back(std::move(one));
  std::erase_if(cases, [&](const CorrectnessCase& one) { return one.kernel != kernel; });
  CHECK(cases.size() >= at_least);
  check_each(cases);
}

/// Runs each case twice: a launch must leave counters as the next one needs them, and both must give equal bits.
inline void check_twice(const std::vector<CorrectnessCase>& cases, std::size_t at_least) {
  CHECK(cases.size() >= at_least);
  check_each(cases, [](EmulatedProblem& problem, const EmulatedRun& run, std::uint64_t seed) {
    const EmulatedRun again = problem.run(seed + 1000, 1);
    CHECK(again.outcome.error == "");
    CHECK(again.output == run.output);
  });
}

/// Compares each case of a kernel that has its own kind of problem, with a seed of its own, with float64.
template <class Problem, class Case>
void check_right(const std::vector<Case>& cases, std::size_t least = 200) {
  CHECK(cases.size() >= least);
  std::uint64_t seed = 0;
  for (const Case& one : share_of(cases)) {
    CAPTURE(describe(one));
    Problem problem(one, sms_of(seed));
    const EmulatedRun run = problem.run(++seed, 64);
    CHECK(run.outcome.error == "");
    CHECK(run.guard == "");
    CHECK(run.comparison.beside == "");
    CHECK(run.comparison.max_error <= allowed_error(run.comparison.reference_error, run.comparison.rounding));
    CHECK(run.comparison.good());
  }
}

/// Checks that the bits of a result and the bytes moved do not depend on the seed.
template <class Problem>
void check_bits(Problem& problem, std::uint64_t seeds) {
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
template <class Problem, class Case>
void check_bits(const std::vector<Case>& cases, std::uint64_t seeds) {
  for (const Case& one : share_of(cases)) {
    CAPTURE(describe(one));
    Problem problem(one);
    check_bits(problem, seeds);
  }
}

inline void check_seeds(const std::string& kernel, std::uint64_t seeds, std::size_t every) {
  std::vector<CorrectnessCase> cases = small_cases(1);
  std::erase_if(cases, [&](const CorrectnessCase& one) { return one.kernel != kernel; });
  std::vector<CorrectnessCase> some;
  for (std::size_t i = 0; i < cases.size(); i += every) some.push_back(cases[i]);
  for (const CorrectnessCase& one : share_of(some)) {
    CAPTURE(describe_case(one).dump());
    EmulatedProblem problem(one);
    check_bits(problem, seeds);
  }
}

}  // namespace napkin::internal::test
