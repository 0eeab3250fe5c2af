// A word as YAML: plain if the reader returns the same word, else in quotes.
#include <doctest/doctest.h>

#include <string>

#include "model/base/yaml.hpp"
#include "model/base/yaml_write.hpp"

namespace test_yaml_write {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("plain words stay plain, all others stand in quotes") {
  CHECK(yaml::written("dv") == "dv");
  CHECK(yaml::written("x_2") == "x_2");
  CHECK(yaml::written("null") == "\"null\"");
  CHECK(yaml::written("") == "\"\"");
  CHECK(yaml::written("2 rows") == "\"2 rows\"");
  CHECK(yaml::written("a\"b\\c") == "\"a\\\"b\\\\c\"");
  CHECK(yaml::written("a\nb") == "\"a\\x0ab\"");
  CHECK(yaml::written("\u202e\u009b\u00e9") == "\"\\u202e\\x9b\u00e9\"");
}

TEST_CASE("the reader gives every word back") {
  for (const std::string word : {"dv", "null", "NULL", "~", "", "1e3", "a: b", "- a", "#", "{x}", "tab\there", "a\nb",
                                 "\x7f", "\u009b[1m", "\u202e", "\u00e9"}) {
    CAPTURE(word);
    const auto parsed = yaml::parse("key: " + yaml::written(word) + "\n", "test.yaml");
    const yaml::Node& document = parsed.root();
    CHECK(document.at("key").text() == word);
  }
}

}  // namespace test_yaml_write
