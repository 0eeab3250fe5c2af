// matmul_fp8_sm90 on the emulator: its own source, compiled as C++.
#include "tests/emulator/running.hpp"

namespace test_matmul_fp8_sm90 {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("matmul_fp8_sm90: chunks, running sums, scales and parts come out right, launch after launch") {
  test::check_twice(test::fp8_product_cases(), 120);
}

TEST_CASE("matmul_fp8_sm90: small shapes come out right") { test::check_cases("matmul_fp8_sm90", 30); }

TEST_CASE("matmul_fp8_sm90: bits do not hang on the seed") { test::check_seeds("matmul_fp8_sm90", 4, 3); }

}  // namespace test_matmul_fp8_sm90
