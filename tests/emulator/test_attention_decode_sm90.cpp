// attention_decode_sm90 on the emulator: its own source, compiled as C++.
#include <doctest/doctest.h>

#include "tests/emulator/decode_problem.hpp"
#include "tests/emulator/running.hpp"

namespace test_attention_decode_sm90 {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("attention_decode_sm90: pages, lengths and parts come out right") {
  test::check_right<test::DecodeProblem>(test::decode_cases(22));
}

TEST_CASE("attention_decode_sm90: more parts than are loaded at once come out right") {
  test::check_right<test::DecodeProblem>(test::cases_of_many_parts(), 20);
}

TEST_CASE("attention_decode_sm90: groups of query heads that no tile divides") {
  test::check_right<test::DecodeProblem>(test::cases_of_undivided_groups(), 30);
}

TEST_CASE("attention_decode_sm90: bits do not hang on the seed") {
  test::check_bits<test::DecodeProblem>(test::decode_cases(2), 3);
}

}  // namespace test_attention_decode_sm90
