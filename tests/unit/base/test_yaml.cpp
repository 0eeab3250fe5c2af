// Strict YAML: the mistakes that are refused, each with its position.
#include <doctest/doctest.h>

#include <string>

#include "model/base/yaml.hpp"
#include "tests/support/mistakes.hpp"

namespace test_yaml {

using napkin::Error;
namespace yaml = napkin::internal::yaml;

namespace {

std::string message_of(const std::string& text) {
  return napkin::internal::test::refusal_of([&] { return yaml::parse(text, "f.yaml"); });
}

}  // namespace

TEST_CASE("values carry their position and field path") {
  const yaml::Document document = yaml::parse("a:\n  b: [1, 2x]\nc: on\n", "f.yaml");
  const yaml::Node& root = document.root();
  const yaml::Node& item = root.at("a").at("b").items()[1];
  CHECK(item.path() == "a.b[1]");
  CHECK(item.location().text() == "f.yaml:2:10");
  CHECK(root.at("a").at("b").items()[0].integer(0, 9) == 1);
  CHECK(root.at("c").boolean());
  CHECK_THROWS_WITH_AS((void)item.integer(0, 9),
                       "f.yaml:2:10: a.b[1]: '2x' is not a whole number: a whole number from 0 to 9", Error);
}

TEST_CASE("keys: missing, unknown and twice") {
  const yaml::Document document = yaml::parse("name: x\nsise: 3\n", "f.yaml");
  const yaml::Node& root = document.root();
  CHECK_THROWS_WITH_AS((void)root.at("size"), "f.yaml:1:1: key 'size' is missing: size: ...", Error);
  CHECK_THROWS_WITH_AS((void)root.allow({"name", "size"}),
                       "f.yaml:2:1: unknown key 'sise': did you mean 'size'? (one of name, size)", Error);
  CHECK(message_of("a: 1\nb: 2\na: 3\n") == "f.yaml:3:1: key 'a' stands twice: once (the first is in line 1)");
}

TEST_CASE("what is not part of the format is refused with a position") {
  CHECK(message_of("a: &x 1\nb: *x\n").starts_with("f.yaml:1:"));
  CHECK(message_of("a: !!int 1\n").starts_with("f.yaml:1:"));
  CHECK(message_of("a: 1\n---\nb: 2\n").find("a second document") != std::string::npos);
  CHECK(message_of("a: [1, 2\n").starts_with("f.yaml:"));
  CHECK(message_of("").starts_with("f.yaml: empty"));
  CHECK(message_of(std::string("a: \x01", 4)).find("control character") != std::string::npos);
  CHECK(message_of(std::string(40, '[') + std::string(40, ']')).find("deep") != std::string::npos);
  CHECK(message_of(std::string(500000, '[')).starts_with("f.yaml:1:"));
  CHECK(message_of("? [a]\n: 1\n").starts_with("f.yaml:1:"));
}

TEST_CASE("numbers are plain, finite and in range") {
  const yaml::Document document = yaml::parse("a: 1e9\nb: nan\nc: '3'\nd: 9223372036854775808\ne: 0x10\n", "f.yaml");
  const yaml::Node& root = document.root();
  CHECK(root.at("a").number() == 1e9);
  CHECK_THROWS_AS((void)root.at("a").integer(0, INT64_MAX), Error);
  CHECK_THROWS_AS((void)root.at("b").number(), Error);
  CHECK_THROWS_AS((void)root.at("c").number(), Error);
  CHECK_THROWS_AS((void)root.at("d").integer(0, INT64_MAX), Error);
  CHECK_THROWS_AS((void)root.at("e").integer(0, 100), Error);
}

TEST_CASE("a file that cannot be read says so") {
  CHECK_THROWS_WITH_AS((void)yaml::read_file("/no/such/file"),
                       "/no/such/file: cannot be read: the path of a readable file", Error);
  CHECK_THROWS_AS((void)yaml::read_file("/"), Error);
}

TEST_CASE("did you mean: every candidate that is as near as the nearest") {
  const std::vector<std::string> gpus = {"b200", "h100-pcie", "h100-sxm", "h200-sxm", "hgx-h100-8"};
  CHECK(napkin::one_of("h100", gpus).starts_with("did you mean 'h100-pcie' or 'h100-sxm'? (one of b200, "));
  CHECK(napkin::one_of("hgx-h100", gpus).starts_with("did you mean 'hgx-h100-8'?"));
  CHECK(napkin::one_of("h300-sxm", gpus).starts_with("did you mean 'h100-sxm' or 'h200-sxm'?"));
  CHECK(napkin::one_of("h100-smx", gpus).starts_with("did you mean 'h100-sxm'?"));
  CHECK(napkin::one_of("kv", {"b", "h", "g", "q", "x", "d"}).starts_with("did you mean 'h' or 'x'?"));
  CHECK(napkin::one_of("zebra", gpus).starts_with("one of b200, "));
  CHECK(napkin::one_of("", gpus).starts_with("one of b200, "));
}

TEST_CASE("did you mean: a beginning before an edit") {
  CHECK(napkin::nearest("h200", {"b200", "h100-sxm", "h200-sxm"}) == "h200-sxm");
  CHECK(napkin::nearest("h20-sxm", {"b200", "h100-sxm", "h200-sxm"}) == "h200-sxm");
  CHECK(napkin::nearest("zebra", {"b200", "h100-sxm"}).empty());
  CHECK(napkin::nearest("H200-SXM", {"b200", "h100-sxm", "h200-sxm"}) == "h200-sxm");
  CHECK(napkin::nearest("H200", {"b200", "h100-sxm", "h200-sxm"}) == "h200-sxm");
  const std::vector<std::string> attention = {"b", "h", "g", "q", "x", "d", "dv"}, matmul = {"a", "b", "c"};
  CHECK(napkin::nearest("Q", attention) == "q");
  for (const char* word : {"s", "n", "seq", "seqlen"}) CHECK(napkin::nearest(word, attention) == "q");
  CHECK(napkin::nearest("head_dim", attention) == "d");
  CHECK(napkin::nearest("k", attention) == "x");
  CHECK(napkin::nearest("n", matmul) == "c");
  CHECK(napkin::nearest("k", matmul) == "b");
  CHECK(napkin::nearest("z", attention).empty());
  CHECK(napkin::nearest("attn", {"attention", "attention_backward", "matmul"}) == "attention");
}

}  // namespace test_yaml
