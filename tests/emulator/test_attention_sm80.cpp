// attention_sm80 on the emulator: its own source, compiled as C++.
#include "tests/emulator/running.hpp"

namespace test_attention_sm80 {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("attention_sm80: recorded cases and small shapes come out right") {
  test::check_cases("attention_sm80", 200);
}

TEST_CASE("attention_sm80: bits do not hang on the seed") { test::check_seeds("attention_sm80", 4, 3); }

TEST_SUITE("slow") {
  TEST_CASE("attention_sm80: no false alarm") { test::check_seeds("attention_sm80", 200, 1); }
}

}  // namespace test_attention_sm80
