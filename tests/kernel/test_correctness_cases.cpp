// The list of cases that every bundled kernel is held to, without a GPU.
#include <doctest/doctest.h>

#include <map>

#include "tests/kernel/correctness_run.hpp"

namespace test_correctness_cases {

using namespace napkin;

TEST_CASE("the list is the same on every run, alone and among the others, with 200 cases of each kernel") {
  std::map<std::string, std::vector<std::string>> together;
  for (const auto& one : test::correctness_cases()) together[one.kernel].push_back(test::describe_case(one).dump());
  for (const char* kernel : {"attention_sm90", "attention_sm80", "matmul_sm90"}) {
    CAPTURE(kernel);
    std::vector<std::string> alone;
    for (const auto& one : test::correctness_cases(kernel)) alone.push_back(test::describe_case(one).dump());
    CHECK(alone.size() >= 200);
    CHECK(alone == together[kernel]);
  }
}

TEST_CASE("the draws are the standard's, which every library has to make alike") {
  test::correctness::Draws draws(std::mt19937_64::default_seed);
  std::int64_t last = 0;
  for (int i = 0; i < 10000; ++i) last = draws.below(1'000'000'007);
  CHECK(last == 9981545732273789042ULL % 1'000'000'007);  // [rand.predef]: the 10000th of mt19937_64
}

}  // namespace test_correctness_cases
