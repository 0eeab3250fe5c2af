// Every twentieth case of the list (correctness_cases.hpp) on the GPU against float64; all of them: run_correctness.
#include <doctest/doctest.h>

#include "tests/kernel/correctness_run.hpp"
#include "tests/kernel/gpu.hpp"

namespace test_correctness {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("every bundled kernel agrees with float64 on awkward cases") {
  Runtime* runtime = test::gpu("sm_90");
  if (runtime == nullptr) return;
  constexpr std::size_t every = 20;
  constexpr std::int64_t rows = 48;
  const std::vector<test::CorrectnessCase> all = test::correctness_cases();
  std::vector<test::CorrectnessCase> cases;
  for (std::size_t i = 0; i < all.size(); i += every) cases.push_back(all[i]);
  test::compile_ahead(cases, static_cast<int>(std::thread::hardware_concurrency()));
  for (const test::CorrectnessCase& one : cases) {
    const std::string text = test::describe_case(one).dump();
    CAPTURE(text);
    const Comparison c = test::start(*runtime, one, rows).get();
    CHECK(c.rows > 0);
    CHECK(c.unwritten == 0);
    CHECK(c.strayed == 0);
    CHECK(c.max_error <= 2 * c.reference_error + 1e-5);
    CHECK(c.lse_error <= 1e-3);
  }
}

}  // namespace test_correctness
