#include "model/base/yaml.hpp"

#include <yaml-cpp/anchor.h>
#include <yaml-cpp/emitterstyle.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>

#include "model/base/file.hpp"
#include "model/base/printable.hpp"
#include "model/base/yaml_plain.hpp"

namespace napkin::yaml {
namespace {

constexpr std::size_t max_depth = 32;
constexpr std::size_t max_bytes = std::size_t{4} << 20;
constexpr std::size_t max_nodes = 200'000;

std::string shown(const std::string& text) {
  return "'" + (text.size() > 40 ? text.substr(0, 37) + "..." : text) + "'";
}

}  // namespace

// Builds the tree from yaml-cpp's events: they carry a position each, show duplicate keys, and never follow an alias.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(std::string file) : file_(std::make_shared<const std::string>(std::move(file))) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) fail(mark, "a second document", "one document a file");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(make(mark, Node::Kind::null, "", anchor)); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail(mark, "an alias (*name)", "write the value out: aliases and anchors are not part of the format");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    const bool quoted = tag == "!";
    Node node = make(mark, quoted || !value.empty() ? Node::Kind::scalar : Node::Kind::null, tag, anchor);
    node.quoted_ = quoted;
    node.scalar_ = value;
    add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(make(mark, Node::Kind::sequence, tag, anchor));
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(make(mark, Node::Kind::map, tag, anchor));
  }
  void OnMapEnd() override { close(); }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override {
    fail(mark, "an anchor (&name)", "write the value out: aliases and anchors are not part of the format");
  }

  [[nodiscard]] Node take() { return std::move(root_); }
  [[nodiscard]] bool empty() const { return nodes_ == 0; }

 private:
  struct Open {
    Node node;
    bool has_key = false;
    std::string key;
    Node::Place key_place;
  };

  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& what, const std::string& right) const {
    throw Error(Location{*file_, mark.line + 1, mark.column + 1}, next_path(), what, right);
  }

  std::string next_path() const {
    if (stack_.empty()) return {};
    const Open& top = stack_.back();
    if (top.node.kind_ == Node::Kind::sequence) {
      return top.node.path_ + "[" + std::to_string(top.node.items_.size()) + "]";
    }
    if (!top.has_key) return top.node.path_;
    return top.node.path_.empty() ? top.key : top.node.path_ + "." + top.key;
  }

  Node make(const YAML::Mark& mark, Node::Kind kind, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) fail(mark, "an anchor (&name)", "write the value out");
    if (!tag.empty() && tag != "?" && tag != "!") fail(mark, "a tag (" + tag + ")", "a plain value");
    if (++nodes_ > max_nodes) fail(mark, "too many values", "at most 200000 a file");
    Node node;
    node.kind_ = kind;
    node.file_ = file_;
    node.place_ = {mark.line + 1, mark.column + 1};
    if (!wants_key()) node.path_ = next_path();
    return node;
  }

  void open(Node node) {
    if (stack_.size() >= max_depth) {
      throw Error(node.location(), "", "nested more than 32 deep", "a flatter document");
    }
    if (wants_key()) throw Error(node.location(), stack_.back().node.path_, "a key that is not a word", "name: value");
    stack_.push_back(Open{std::move(node), false, {}, {}});
  }

  void close() {
    Node node = std::move(stack_.back().node);
    stack_.pop_back();
    add(std::move(node));
  }

  bool wants_key() const {
    return !stack_.empty() && stack_.back().node.kind_ == Node::Kind::map && !stack_.back().has_key;
  }

  void add(Node node) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& top = stack_.back();
    if (top.node.kind_ == Node::Kind::sequence) {
      top.node.items_.push_back(std::move(node));
      return;
    }
    if (top.has_key) {
      node.key_place_ = top.key_place;
      top.node.entries_.emplace_back(std::move(top.key), std::move(node));
      top.has_key = false;
      return;
    }
    if (node.kind_ != Node::Kind::scalar || node.scalar_.empty()) {
      throw Error(node.location(), top.node.path_, "an empty key", "name: value");
    }
    for (const auto& [key, earlier] : top.node.entries_) {
      if (key == node.scalar_) {
        throw Error(node.location(), top.node.path_, "key " + shown(key) + " stands twice",
                    "once (the first is in line " + std::to_string(earlier.key_place_.line) + ")");
      }
    }
    top.key = std::move(node.scalar_);
    top.key_place = node.place_;
    top.has_key = true;
  }

  std::shared_ptr<const std::string> file_;
  std::vector<Open> stack_;
  Node root_;
  int documents_ = 0;
  std::size_t nodes_ = 0;
};

void Node::fail(const std::string& what, const std::string& right) const {
  throw Error(location(), path_, what, right);
}

Location Node::at_offset(std::size_t offset) const {
  Location where = location();
  where.column += static_cast<int>(offset) + (quoted_ ? 1 : 0);
  return where;
}

const std::string& Node::text() const {
  if (kind_ == Kind::null) fail("empty", "a word");
  if (kind_ != Kind::scalar) fail(kind_ == Kind::map ? "a map" : "a list", "a word");
  return scalar_;
}

std::int64_t Node::integer(std::int64_t least, std::int64_t most) const {
  const std::string range = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  if (kind_ != Kind::scalar || quoted_) fail("not a number", range);
  std::int64_t value = 0;
  const char* const end = scalar_.data() + scalar_.size();
  const auto [stop, code] = std::from_chars(scalar_.data(), end, value);
  if (code != std::errc{} || stop != end) fail(shown(scalar_) + " is not a whole number", range);
  if (value < least || value > most) fail(shown(scalar_) + " is out of range", range);
  return value;
}

double Node::number() const {
  if (kind_ != Kind::scalar || quoted_) fail("not a number", "a number such as 3.35 or 1e9");
  double value = 0;
  const char* const end = scalar_.data() + scalar_.size();
  const auto [stop, code] = std::from_chars(scalar_.data(), end, value);
  if (code != std::errc{} || stop != end || !std::isfinite(value)) {
    fail(shown(scalar_) + " is not a number", "a finite number such as 3.35 or 1e9");
  }
  return value;
}

bool Node::boolean() const {
  if (kind_ == Kind::scalar && !quoted_) {
    for (const char* yes : {"true", "on", "yes"}) {
      if (scalar_ == yes) return true;
    }
    for (const char* no : {"false", "off", "no"}) {
      if (scalar_ == no) return false;
    }
  }
  fail("not a yes or no", "true or false");
}

std::string Node::choice(const std::vector<std::string>& allowed) const {
  const std::string& word = text();
  if (std::find(allowed.begin(), allowed.end(), word) == allowed.end()) {
    fail("unknown " + shown(word), one_of(word, allowed));
  }
  return word;
}

const std::vector<Node>& Node::items() const {
  if (kind_ != Kind::sequence) fail("not a list", "a list: [a, b]");
  return items_;
}

std::vector<std::string> Node::words() const {
  if (kind_ == Kind::scalar) return {text()};
  std::vector<std::string> out;
  for (const Node& item : items()) out.push_back(item.text());
  return out;
}

const std::vector<std::pair<std::string, Node>>& Node::entries() const {
  if (kind_ != Kind::map) fail(kind_ == Kind::null ? "empty" : "not a map", "name: value pairs");
  return entries_;
}

const Node& Node::allow(const std::vector<std::string>& keys) const {
  for (const auto& [key, node] : entries()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      throw Error(node.key_location(), path_, "unknown key " + shown(key), one_of(key, keys));
    }
  }
  return *this;
}

const Node& Node::at(std::string_view key) const {
  if (const Node* node = find(key)) return *node;
  fail("key '" + std::string(key) + "' is missing", std::string(key) + ": ...");
}

const Node* Node::find(std::string_view key) const {
  for (const auto& [name, node] : entries()) {
    if (name == key) return &node;
  }
  return nullptr;
}

namespace {

void check_characters(std::string_view text, const std::string& file) {
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool blank = c == '\n' || c == '\r' || c == '\t', control = c < 0x20 && !blank;
    const Character first = c < 0x80 ? Character{c, 1, true} : first_character(text.substr(i));
    if (control || !first.valid) {
      const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(i), '\n');
      throw Error(Location{file, static_cast<int>(line), 1}, "",
                  control ? "a control character" : "the byte " + escape_of(c) + ", which is no UTF-8",
                  "a YAML text in UTF-8");
    }
    i += first.bytes;
  }
}

}  // namespace

Node parse(std::string_view text, const std::string& file) {
  if (text.size() > max_bytes) throw Error(file, "larger than 4 MiB", "a smaller file");
  check_characters(text, file);
  if (Builder builder(file); read_plain(text, builder)) return builder.take();
  std::istringstream stream{std::string(text)};
  Builder builder(file);
  try {
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& e) {
    throw Error(Location{file, e.mark.line + 1, e.mark.column + 1}, "", e.msg, "well-formed YAML");
  }
  if (builder.empty()) throw Error(file, "empty", "a YAML document");
  return builder.take();
}

std::string read_file(const std::string& path) { return napkin::read_file(path, max_bytes, path); }

}  // namespace napkin::yaml
