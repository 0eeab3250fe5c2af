// attention_sm90 and attention_wide_sm90, which are one source, on the emulator, compiled as C++.
#include "tests/emulator/running.hpp"

namespace test_attention_sm90 {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("attention_sm90: recorded cases and small shapes come out right") {
  test::check_cases("attention_sm90", 300);
}

TEST_CASE("attention_wide_sm90: cases and small shapes come out right") {
  test::check_cases("attention_wide_sm90", 80);
}

TEST_CASE("attention_sm90: bits do not hang on the seed") { test::check_seeds("attention_sm90", 4, 3); }

TEST_CASE("attention_wide_sm90: bits do not hang on the seed") { test::check_seeds("attention_wide_sm90", 4, 3); }

TEST_SUITE("slow") {
  TEST_CASE("attention_sm90: no false alarm") { test::check_seeds("attention_sm90", 200, 1); }
}

}  // namespace test_attention_sm90
