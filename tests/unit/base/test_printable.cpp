// Text made safe for a terminal: control characters are shown by their codes.
#include <doctest/doctest.h>

#include <string>

#include "model/base/error.hpp"
#include "model/base/printable.hpp"
#include "model/base/yaml.hpp"

namespace test_printable {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("control characters and bytes that are no UTF-8 are shown by their codes") {
  CHECK(printable("plain, \u00e9 \u4e2d \U0001f600") == "plain, \u00e9 \u4e2d \U0001f600");
  CHECK(printable("a\nb\tc\x1b[31m\x7f") == "a\\x0ab\\x09c\\x1b[31m\\x7f");
  CHECK(printable("\u009b31m \u202eolleh\u2066") == "\\x9b31m \\u202eolleh\\u2066");
  CHECK(printable("\xff\xfe \xc3") == "\\xff\\xfe \\xc3");
  // codes that are too long, a surrogate, or too large
  CHECK(printable("\xc0\x80 \xe0\x80\x80 \xed\xa0\x80 \xf4\x90\x80\x80 \xf8") ==
        "\\xc0\\x80 \\xe0\\x80\\x80 \\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80 \\xf8");
  CHECK(printable("") == "");
}

TEST_CASE("what is printed once is printed so again") {
  for (const std::string text : {"a\nb", "\xff", "\u202e", "plain"})
    CHECK(printable(printable(text)) == printable(text));
}

TEST_CASE("an error is one line, whatever it tells of") {
  const Error error("/tmp/a\nb\x1b[2J.yaml", "unknown key 'x\u009b\xff'", "one of a, b");
  CHECK(std::string(error.what()) == "/tmp/a\\x0ab\\x1b[2J.yaml: unknown key 'x\\x9b\\xff': one of a, b");
}

TEST_CASE("a YAML text is of UTF-8, and the error says where it is not") {
  try {
    static_cast<void>(yaml::parse("a: 1\nb: \"\xff\"\n", "test.yaml"));
    FAIL("read");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) == "test.yaml:2:1: the byte \\xff, which is no UTF-8: a YAML text in UTF-8");
  }
  CHECK(yaml::parse("a: \"\u00e9\"\n", "test.yaml").root().at("a").text() == "\u00e9");
}

}  // namespace test_printable
