// Runs cases on the emulator, for whoever looks for a fault or counts seeds.
//
//   run_emulator [--kernel NAME] [--most 3000000] [--small 3] [--seeds 1] [--first 0] [--every 1] [--planted NAME]
//
// Recorded cases of at most --most multiply-adds and --small small shapes of each variant, each with --seeds seeds of
// its own. Exit 1 where one is wrong.
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "tests/emulator/problem.hpp"
#include "tests/kernel/correctness_run.hpp"
#include "tests/kernel/program.hpp"

namespace {

using namespace napkin;

struct Request {
  std::string kernel, planted;
  std::uint64_t seeds = 1;
  std::size_t first = 0, every = 1, small = 3;
  std::int64_t most = 3'000'000;
};

void tell(std::size_t number, const test::CorrectnessCase& one, const test::EmulatedRun& run) {
  const Comparison& c = run.comparison;
  std::printf(
      "%zu: %s\n  %s%s error %g, of an unfused computation %g, of the log-sum-exp %g, unwritten %lld, strayed %lld\n",
      number, test::describe_case(one).dump().c_str(), run.outcome.error.c_str(), run.guard.c_str(), c.max_error,
      c.reference_error, c.lse_error, static_cast<long long>(c.unwritten), static_cast<long long>(c.strayed));
  std::fflush(stdout);
}

int run(const Request& r) {
  std::vector<test::CorrectnessCase> cases = test::repeated_cases(r.most);
  for (test::CorrectnessCase& one : test::small_cases(r.small)) cases.push_back(std::move(one));
  std::erase_if(cases, [&](const auto& one) { return !r.kernel.empty() && one.kernel != r.kernel; });
  std::uint64_t wrong = 0, runs = 0;
  for (std::size_t i = r.first; i < cases.size(); i += r.every) {
    test::EmulatedProblem problem(cases[i], 1 + static_cast<int>(i % 4));
    for (std::uint64_t seed = i * r.seeds; seed < (i + 1) * r.seeds; ++seed) {
      const test::EmulatedRun outcome = problem.run(seed, 8, r.planted);
      ++runs;
      if (outcome.good()) continue;
      ++wrong;
      tell(i, cases[i], outcome);
    }
    if (i % 20 == 0) std::fprintf(stderr, "%zu of %zu cases\n", i, cases.size());
  }
  std::printf("%zu cases, %llu runs, %llu wrong\n", cases.size(), static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(wrong));
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Request r;
  CLI::App app("Recorded and small cases on the emulator", "run_emulator");
  app.add_option("--kernel", r.kernel);
  app.add_option("--planted", r.planted);
  app.add_option("--seeds", r.seeds);
  app.add_option("--first", r.first);
  app.add_option("--every", r.every);
  app.add_option("--small", r.small);
  app.add_option("--most", r.most);
  return test::run_program(app, argc, argv, [&] { return run(r); });
}
