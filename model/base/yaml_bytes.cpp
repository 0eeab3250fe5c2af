#include "model/base/yaml_bytes.hpp"

#include <yaml-cpp/anchor.h>
#include <yaml-cpp/emitterstyle.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/base/byte_stream.hpp"
#include "model/base/error.hpp"
#include "model/base/printable.hpp"
#include "model/base/yaml.hpp"

namespace napkin::internal::yaml {
namespace {

constexpr std::size_t max_bytes = std::size_t{4} << 20;
constexpr std::size_t max_nodes = 200'000;

struct Place {
  int line = 0, column = 0;
};

void put(ByteWriter& out, const Place& place) {
  out.put_count(static_cast<std::uint32_t>(place.line));
  out.put_count(static_cast<std::uint32_t>(place.column));
}

void put_text(ByteWriter& out, std::string_view text) {
  out.put_count(text.size());
  out.put_bytes(text);
}

/// A value as it is read; a list's or map's children are bytes already.
struct Value {
  Node::Kind kind = Node::Kind::null;
  bool quoted = false;
  Place place;
  std::string text;  ///< text of a scalar
  ByteWriter children;
  std::size_t count = 0, nodes = 0;  ///< children; nodes in it
};

void put(ByteWriter& out, Value value, const std::string* key, const Place& key_place) {
  out.put(static_cast<std::uint8_t>(static_cast<unsigned>(value.kind) | (value.quoted ? quoted_bit : 0U) |
                                    (key != nullptr ? key_bit : 0U)));
  if (key != nullptr) {
    put_text(out, *key);
    put(out, key_place);
  }
  put(out, value.place);
  if (value.kind == Node::Kind::scalar) put_text(out, value.text);
  if (value.kind != Node::Kind::sequence && value.kind != Node::Kind::map) return;
  out.put_count(value.count);
  out.put_count(value.nodes);
  put_text(out, value.children.take());
}

/// Writes a document from yaml-cpp's events: they carry a position each, show duplicate keys, and never follow an
/// alias.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(const std::string& file) : file_(file) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) fail(mark, "a second document", "one document a file");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(make(mark, Node::Kind::null, "", anchor)); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    fail(mark, "an alias (*name)", "write the value out: aliases and anchors are not part of the format");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    const bool quoted = tag == "!";
    Value value = make(mark, quoted || !text.empty() ? Node::Kind::scalar : Node::Kind::null, tag, anchor);
    value.quoted = quoted;
    value.text = text;
    add(std::move(value));
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

  [[nodiscard]] std::string take() { return root_.take(); }
  [[nodiscard]] bool empty() const { return nodes_ == 0; }

 private:
  /// A list or map whose end was not met yet.
  struct Open {
    Value value;
    std::string path;
    std::unordered_map<std::string, int> lines;  ///< lines by key
    bool has_key = false;
    std::string key;
    Place key_place;
  };

  [[noreturn]] void fail(const YAML::Mark& mark, const std::string& what, const std::string& right) const {
    fail(Place{mark.line + 1, mark.column + 1}, next_path(), what, right);
  }
  [[noreturn]] void fail(const Place& place, const std::string& path, const std::string& what,
                         const std::string& right) const {
    throw Error(Location{file_, place.line, place.column}, path, what, right);
  }

  [[nodiscard]] std::string next_path() const {
    if (stack_.empty()) return {};
    const Open& top = stack_.back();
    if (top.value.kind == Node::Kind::sequence) return top.path + "[" + std::to_string(top.value.count) + "]";
    if (!top.has_key) return top.path;
    return top.path.empty() ? top.key : top.path + "." + top.key;
  }

  Value make(const YAML::Mark& mark, Node::Kind kind, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) fail(mark, "an anchor (&name)", "write the value out");
    if (!tag.empty() && tag != "?" && tag != "!") fail(mark, "a tag (" + tag + ")", "a plain value");
    if (++nodes_ > max_nodes) fail(mark, "too many values", "at most 200000 a file");
    Value value;
    value.kind = kind;
    value.place = {mark.line + 1, mark.column + 1};
    return value;
  }

  void open(Value value) {
    if (stack_.size() >= max_depth) fail(value.place, "", "nested more than 32 deep", "a flatter document");
    if (wants_key()) fail(value.place, stack_.back().path, "a key that is not a word", "name: value");
    std::string path = next_path();
    stack_.push_back(Open{std::move(value), std::move(path), {}, false, {}, {}});
  }

  void close() {
    Value value = std::move(stack_.back().value);
    stack_.pop_back();
    add(std::move(value));
  }

  [[nodiscard]] bool wants_key() const {
    return !stack_.empty() && stack_.back().value.kind == Node::Kind::map && !stack_.back().has_key;
  }

  void add(Value value) {
    if (stack_.empty()) {
      put(root_, std::move(value), nullptr, {});
    } else if (wants_key()) {
      add_key(std::move(value));
    } else {
      Open& top = stack_.back();
      ++top.value.count;
      top.value.nodes += value.nodes + 1;
      put(top.value.children, std::move(value), top.has_key ? &top.key : nullptr, top.key_place);
      top.has_key = false;
    }
  }

  void add_key(Value value) {
    Open& top = stack_.back();
    if (value.kind != Node::Kind::scalar || value.text.empty())
      fail(value.place, top.path, "an empty key", "name: value");
    const auto [earlier, is_new] = top.lines.emplace(value.text, value.place.line);
    if (!is_new)
      fail(value.place, top.path, "key " + shown(value.text) + " stands twice",
           "once (the first is in line " + std::to_string(earlier->second) + ")");
    top.key = std::move(value.text);
    top.key_place = value.place;
    top.has_key = true;
  }

  const std::string& file_;
  std::vector<Open> stack_;
  ByteWriter root_;
  int documents_ = 0;
  std::size_t nodes_ = 0;
};

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

std::string shown(std::string_view word) {
  return "'" + (word.size() > 40 ? std::string(word.substr(0, 37)) + "..." : std::string(word)) + "'";
}

std::string bytes_of(std::string_view text, const std::string& file) {
  if (text.size() > max_bytes) throw Error(file, "larger than 4 MiB", "a smaller file");
  check_characters(text, file);
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

}  // namespace napkin::internal::yaml
