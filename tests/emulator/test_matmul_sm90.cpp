// matmul_sm90 on the emulator: its own source, compiled as C++.
#include "tests/emulator/running.hpp"

namespace test_matmul_sm90 {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("matmul_sm90: recorded cases and small shapes come out right") { test::check_cases("matmul_sm90", 200); }

TEST_CASE("matmul_sm90: parts of tiles add up, launch after launch, whoever comes last") {
  test::check_twice(test::split_cases(), 140);
}

TEST_CASE("matmul_sm90: bits do not hang on the seed") { test::check_seeds("matmul_sm90", 4, 3); }

TEST_SUITE("slow") {
  TEST_CASE("matmul_sm90: no false alarm") { test::check_seeds("matmul_sm90", 200, 1); }
}

}  // namespace test_matmul_sm90
