#include "napkin/ask.hpp"

#include <doctest/doctest.h>

#include "model/diagram/problem.hpp"

namespace test_arguments {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("shapes") {
  CHECK(parse_shape("q=8192") == NamedSizes{{"q", 8192}});
  CHECK(parse_shape(" q = 8192 ,\tx=1,dv=64 ") == NamedSizes{{"q", 8192}, {"x", 1}, {"dv", 64}});
  CHECK(parse_shape("q=9223372036854775807").front().second == INT64_MAX);
  CHECK(parse_shape("q=007").front().second == 7);
  for (const char* bad : {"",        " ",    ",",        "q",     "q=",    "=1",    "q=0",  "q=-1",
                          "q=1,q=1", "q=1,", "q=1,,x=1", "q=1.0", "q=1e3", "q=0x1", "q=+1", "q=9223372036854775808",
                          "1q=1",    "q.=1", "q=1 2",    "q q=1", "q==1"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS((void)parse_shape(bad), Error);
  }
}

TEST_CASE("a mistake says where, what and what would be right") {
  try {
    (void)parse_shape("q=8k", "--shape");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.where() == "--shape");
    CHECK(error.problem() == "q is '8k', which is no whole number");
    CHECK(error.right() == "a whole number from 1, digits only");
  }
}

TEST_CASE("tiles keep words as words") {
  CHECK(parse_tile("q=128,pingpong=on,registers.q=64") ==
        TileText{{"q", "128"}, {"pingpong", "on"}, {"registers.q", "64"}});
  CHECK_THROWS_AS((void)parse_tile("q=1,q=2"), Error);
}

TEST_CASE("lengths") {
  CHECK(parse_lengths("512") == std::vector<SequenceLengths>{{512, 512}});
  CHECK(parse_lengths(" 512 , 1x4096,0,2*7,3*1x0") ==
        std::vector<SequenceLengths>{{512, 512}, {1, 4096}, {0, 0}, {7, 7}, {7, 7}, {1, 0}, {1, 0}, {1, 0}});
  CHECK(parse_lengths("1048576*1").size() == 1048576);
  for (const char* bad : {"", ",", "5,", "-1", "1x", "x1", "1x2x3", "1X2", "2*", "*2", "0*5", "2*3*4", "1x2*3", "1.5",
                          "1 2", "1048577*1", "1048576*1,1", "9223372036854775808"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS((void)parse_lengths(bad), Error);
  }
}

TEST_CASE("windows") {
  const Mask mask = parse_window("1023,0");
  CHECK(mask.kind == Mask::Kind::window);
  CHECK(mask.left == 1023);
  CHECK(mask.right == 0);
  CHECK(parse_window("-1,-1") == Mask{});
  CHECK(parse_window("-1,0") == Mask{Mask::Kind::causal, 0, 0});
  const Mask right = parse_window("-1,5"), left = parse_window("7,-1");
  for (const std::int64_t x : {1, 7, 65}) {  // without a limit the number may be as large as any array's size
    for (const std::int64_t q : {1, 7, 65}) {
      CHECK(visible_pairs(right, q, x) == visible_pairs({Mask::Kind::window, q + x, 5}, q, x));
      CHECK(visible_pairs(left, q, x) == visible_pairs({Mask::Kind::window, 7, q + x}, q, x));
    }
  }
  for (const char* bad : {"", "1", "1,2,3", "-2,0", "0,-2", "a,0", "1,", "9223372036854775808,0"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS((void)parse_window(bad), Error);
  }
}

TEST_CASE("fractions") {
  const auto parsed = parse_fractions("P=0.5, O=2", "--overhead");
  CHECK(parsed == std::vector<std::pair<std::string, double>>{{"P", 0.5}, {"O", 2}});
  for (const char* bad : {"", "P", "P=", "P=-1", "P=inf", "P=nan", "P=1,P=2", "P=1x", "P=1e999"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS((void)parse_fractions(bad, "--overhead"), Error);
  }
}

TEST_CASE("quotes are short and printable") {
  CHECK(in_quotes("q=1") == "'q=1'");
  CHECK(in_quotes(std::string_view("\n\x1b\0\xff", 4)) == "'\\x0a\\x1b\\x00\\xff'");
  CHECK(in_quotes(std::string(100, 'a')) == "'" + std::string(40, 'a') + "...'");
}

}  // namespace test_arguments
