// The plain reader tells what yaml-cpp tells, event by event and position by position, of every text that it does not
// leave to yaml-cpp: the bundled files, and pieces of them with characters changed at random.
#include "model/base/yaml_plain.hpp"

#include <doctest/doctest.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "model/base/embedded.hpp"

namespace test_yaml_plain {

using napkin::embedded_files;
using napkin::EmbeddedFile;
using napkin::yaml::read_plain;

namespace {

/// Everything that an event says, as text.
class Log : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { add("document", mark, ""); }
  void OnDocumentEnd() override { text += "end of document\n"; }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { add("null", mark, ""); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { add("alias", mark, ""); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    add("scalar", mark, tag + " " + std::to_string(anchor) + " '" + value + "'");
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    add("sequence", mark, tag + " " + std::to_string(anchor) + " " + std::to_string(style));
  }
  void OnSequenceEnd() override { text += "end of sequence\n"; }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    add("map", mark, tag + " " + std::to_string(anchor) + " " + std::to_string(style));
  }
  void OnMapEnd() override { text += "end of map\n"; }
  void OnAnchor(const YAML::Mark& mark, const std::string& name) override { add("anchor", mark, name); }

  std::string text;

 private:
  void add(const std::string& what, const YAML::Mark& mark, const std::string& value) {
    if (what == "document") {  // where a document begins is in no message
      text += "document\n";
      return;
    }
    text += what + " " + std::to_string(mark.line) + ":" + std::to_string(mark.column) + " " + value + "\n";
  }
};

std::string told_by_library(const std::string& text) {
  std::istringstream stream(text);
  Log log;
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(log)) {
    }
  } catch (const YAML::Exception& error) {
    return std::string("refused: ") + error.what();
  }
  return log.text;
}

/// True where the plain reader took the text: it then told what yaml-cpp tells.
bool agrees(const std::string& text) {
  Log log;
  if (!read_plain(text, log)) return false;
  const std::string expected = told_by_library(text);
  CAPTURE(text);
  CHECK(log.text == expected);
  return true;
}

std::vector<std::string> bundled() {
  std::vector<std::string> texts;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path.ends_with(".yaml") && !file.path.starts_with("tests/")) texts.emplace_back(file.text);
  }
  return texts;
}

/// Some lines of a text, moved to the left margin.
std::string piece_of(const std::string& text, std::mt19937& random) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  const std::size_t first = random() % lines.size(), count = 1 + random() % 6;
  const std::size_t margin = std::min(lines[first].find_first_not_of(' '), lines[first].size());
  std::string piece;
  for (std::size_t i = first; i < std::min(first + count, lines.size()); ++i) {
    const std::size_t indent = std::min(lines[i].find_first_not_of(' '), lines[i].size());
    piece += lines[i].substr(std::min(margin, indent)) + "\n";
  }
  return piece;
}

void change(std::string& text, std::mt19937& random) {
  constexpr std::string_view characters = " \n:,-#{}[]\"'?&*!|>%@ab01.  -: ";
  if (text.empty()) return;
  const std::size_t at = random() % text.size();
  const char other = characters[random() % characters.size()];
  switch (random() % 3) {
    case 0: text[at] = other; break;
    case 1: text.insert(at, 1, other); break;
    default: text.erase(at, 1);
  }
}

}  // namespace

TEST_CASE("the bundled files: equal events, and nearly all of them are plain") {
  int plain = 0, large = 0;
  for (const std::string& text : bundled()) {
    const bool taken = agrees(text);
    plain += taken ? 1 : 0;
    if (text.size() > 5000) {
      ++large;
      CHECK_MESSAGE(taken, text.substr(0, 60));
    }
  }
  CHECK(plain > 20);
  CHECK(large > 10);
}

TEST_CASE("pieces with up to three characters changed: equal events") {
  const std::vector<std::string> texts = bundled();
  std::mt19937 random(1);
  int plain = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = piece_of(texts[random() % texts.size()], random);
    for (auto changes = random() % 4; changes > 0; --changes) change(text, random);
    plain += agrees(text) ? 1 : 0;
  }
  CHECK(plain > 2000);
}

TEST_CASE("what is left to yaml-cpp") {
  for (const char* text : {"",
                           "# nothing\n",
                           "- a\n",
                           "a",
                           "a:\n",
                           "a: b: c\n",
                           "a: 'b'\n",
                           "a: \"b\\n\"\n",
                           "a: |\n  b\n",
                           "a: >\n  b\n",
                           "a: &b c\n",
                           "a: *b\n",
                           "a: !t b\n",
                           "a: [1,\n  2]\n",
                           "a: b\n  c\n",
                           "a:\tb\n",
                           "a: b\r\n",
                           "a: \xc3\xa9\n",
                           "---\na: b\n",
                           "a: b\n...\n",
                           "? a\n",
                           "a: {b: , c: 1}\n",
                           "a: [1,]\n",
                           "a: {b}\n",
                           "a: [b: 1]\n",
                           " a: b\n",
                           "a: b\n c: d\n",
                           "a:\n  b: 1\n c: 2\n",
                           "a: @b\n",
                           "a: `b\n",
                           "a: #b\n",
                           "a:b\n",
                           "a: - b\n",
                           "{a: b}\n"}) {
    CAPTURE(text);
    Log log;
    CHECK_FALSE(read_plain(text, log));
  }
}

}  // namespace test_yaml_plain
