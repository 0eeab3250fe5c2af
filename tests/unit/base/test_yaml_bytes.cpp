// The document of each bundled file, made without parsing, has the values and places that yaml-cpp finds in its text;
// damaged bytes give an error or a document, never a crash.
#include "model/base/yaml_bytes.hpp"

#include <doctest/doctest.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/base/embedded.hpp"
#include "model/base/library.hpp"
#include "model/base/yaml.hpp"

namespace test_yaml_bytes {

using napkin::Error;
using napkin::internal::embedded_files;
using napkin::internal::EmbeddedFile;
namespace yaml = napkin::internal::yaml;

namespace {

std::string told(const std::string& what, int line, int column, const std::string& value = {}) {
  return what + " " + std::to_string(line) + ":" + std::to_string(column) + " '" + value + "'\n";
}

/// Records yaml-cpp's events, key by key and value by value. A key is a word, in quotes or not.
class Log : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { add("null", mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { add("alias", mark); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t, const std::string& value) override {
    const bool is_key = !open_.empty() && open_.back().is_map && open_.back().told % 2 == 0;
    add(is_key ? "word" : tag == "!" ? "quoted" : value.empty() ? "null" : "word", mark, value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    add("[", mark);
    open_.push_back({false, 0});
  }
  void OnSequenceEnd() override { close("]\n"); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    add("{", mark);
    open_.push_back({true, 0});
  }
  void OnMapEnd() override { close("}\n"); }
  void OnAnchor(const YAML::Mark& mark, const std::string& name) override { add("anchor", mark, name); }

  std::string text;

 private:
  /// A list or map that has not ended yet, and the number of its keys and values so far.
  struct Open {
    bool is_map = false;
    int told = 0;
  };
  void add(const std::string& what, const YAML::Mark& mark, const std::string& value = {}) {
    if (!open_.empty()) ++open_.back().told;
    text += test_yaml_bytes::told(what, mark.line + 1, mark.column + 1, value);
  }
  void close(const std::string& end) {
    open_.pop_back();
    text += end;
  }
  std::vector<Open> open_;
};

std::string told_by_library(std::string_view text) {
  std::istringstream stream{std::string(text)};
  Log log;
  YAML::Parser parser(stream);
  while (parser.HandleNextDocument(log)) {
  }
  return log.text;
}

/// Writes a document in the same form; a key is written like a word.
void tell(const yaml::Node& node, std::string& out) {
  const napkin::Location at = node.location();
  switch (node.kind()) {
    case yaml::Node::Kind::null: out += told("null", at.line, at.column); break;
    case yaml::Node::Kind::scalar:
      out += told(node.is_quoted() ? "quoted" : "word", at.line, at.column, node.text());
      break;
    case yaml::Node::Kind::sequence:
      out += told("[", at.line, at.column);
      for (const yaml::Node& item : node.items()) tell(item, out);
      out += "]\n";
      break;
    case yaml::Node::Kind::map:
      out += told("{", at.line, at.column);
      for (const auto& [key, value] : node.entries()) {
        const napkin::Location key_at = value.key_location();
        out += told("word", key_at.line, key_at.column, key);
        tell(value, out);
      }
      out += "}\n";
  }
}

std::string told_by(const yaml::Document& document) {
  std::string out;
  tell(document.root(), out);
  return out;
}

std::vector<EmbeddedFile> bundled() {
  std::vector<EmbeddedFile> files;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path.ends_with(".yaml")) files.push_back(file);
  }
  return files;
}

}  // namespace

TEST_CASE("a file that is not embedded is a defect that is told, and no empty text") {
  CHECK_THROWS_WITH_AS((void)napkin::internal::embedded_file("no/such.json"),
                       "'no/such.json' is not in the program: name it in napkin_embed of CMakeLists.txt",
                       std::logic_error);
  for (const EmbeddedFile& file : embedded_files()) CHECK(napkin::internal::embedded_file(file.path).text == file.text);
}

TEST_CASE("the bundled files: each value is what yaml-cpp reads at that place") {
  REQUIRE(bundled().size() > 60);
  for (const EmbeddedFile& file : bundled()) {
    CAPTURE(file.path);
    CHECK(file.tree == yaml::bytes_of(file.text, std::string(file.path)));
    CHECK(told_by(yaml::embedded(file)) == told_by_library(file.text));
  }
}

TEST_CASE("the path of a value says where it stands") {
  const yaml::Document document = yaml::parse("a:\n  - {b: 1, c: [x, {d: 2}]}\n", "f.yaml");
  const yaml::Node& c = document.root().at("a").items()[0].at("c");
  CHECK(document.root().path().empty());
  CHECK(c.path() == "a[0].c");
  CHECK(c.items()[1].at("d").path() == "a[0].c[1].d");
  CHECK(c.items()[1].at("d").location().text() == "f.yaml:2:23");
}

TEST_CASE("a word at the top of a bundled file, without its document") {
  const std::string tree = yaml::bytes_of("algorithm: attention\nlist: [algorithm]\nsource: \"\"\nnone:\n", "f.yaml");
  const EmbeddedFile file{"f.yaml", "", tree};
  CHECK(yaml::embedded_word(file, "algorithm") == "attention");
  CHECK(yaml::embedded_word(file, "list").empty());
  CHECK(yaml::embedded_word(file, "source").empty());
  CHECK(yaml::embedded_word(file, "none").empty());
  CHECK(yaml::embedded_word(file, "missing").empty());
}

TEST_CASE("damaged bytes are an error") {
  const std::string bytes = yaml::bytes_of("a: [1, {b: \"two\"}]\nc: {d: , e: 3}\n", "f.yaml");
  CHECK_THROWS_AS((void)yaml::embedded({"f.yaml", "", ""}), Error);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK_THROWS_AS((void)yaml::Document(bytes.substr(0, length), "f.yaml"), Error);
  CHECK_THROWS_WITH_AS((void)yaml::Document(bytes + '\0', "f.yaml"),
                       "f.yaml: its bytes are damaged: has bytes after its values: build the program anew", Error);
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string changed = bytes;
    for (int k = 0; k < 1 + i % 3; ++k) changed[random() % changed.size()] = static_cast<char>(random());
    try {
      CHECK(told_by(yaml::Document(changed, "f.yaml")) != "");
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 5000);
}

}  // namespace test_yaml_bytes
