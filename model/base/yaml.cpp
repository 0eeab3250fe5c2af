#include "model/base/yaml.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "model/base/byte_stream.hpp"
#include "model/base/file.hpp"
#include "model/base/printable.hpp"
#include "model/base/yaml_bytes.hpp"

namespace napkin::internal::yaml {
namespace {

std::string_view get_text(ByteReader& bytes) { return bytes.next(bytes.get_size()); }

int get_int(ByteReader& bytes) { return static_cast<int>(static_cast<std::uint32_t>(bytes.get_count())); }

}  // namespace

/// A reader that fills nodes from bytes, and checks every number in them.
class DocumentReader {
 public:
  /// The properties of a value that precede its text or children in the bytes.
  struct Head {
    Node::Kind kind = Node::Kind::null;
    bool quoted = false;
    std::string_view key;
    Node::Place key_place, place;
    std::size_t children = 0, nodes = 0;
    std::string_view rest;  ///< text of a scalar; bytes of the children
  };

  static Head head(ByteReader& bytes) {
    Head out;
    const unsigned flags = bytes.get<std::uint8_t>();
    out.kind = static_cast<Node::Kind>(flags & kind_bits);
    out.quoted = (flags & quoted_bit) != 0;
    if ((flags & key_bit) != 0) {
      out.key = get_text(bytes);
      out.key_place = place(bytes);
    }
    out.place = place(bytes);
    if (out.kind == Node::Kind::null) return out;
    if (out.kind != Node::Kind::scalar) {
      out.children = bytes.get_size();
      out.nodes = bytes.get_size();
    }
    out.rest = get_text(bytes);
    return out;
  }

  DocumentReader(const std::string& file, Node* nodes, std::size_t size) : file_(file), nodes_(nodes), size_(size) {}

  /// Reads the value and its descendants, from node `at` on.
  void read(ByteReader& bytes, std::size_t at, std::uint32_t parent, std::size_t depth) {
    const Head head = DocumentReader::head(bytes);
    if (head.nodes >= size_ - at || depth > max_depth) throw Error(file_, "does not fit its nodes");
    Node& node = nodes_[at];
    node.file_ = &file_;
    node.kind_ = head.kind;
    node.quoted_ = head.quoted;
    node.key_ = head.key;
    node.key_place_ = head.key_place;
    node.place_ = head.place;
    node.parent_ = parent;
    node.nodes_ = static_cast<std::uint32_t>(head.nodes + 1);
    node.children_ = static_cast<std::uint32_t>(head.children);
    if (head.kind == Node::Kind::scalar) node.scalar_ = head.rest;
    if (head.kind == Node::Kind::sequence || head.kind == Node::Kind::map) {
      ByteReader children(head.rest);
      const std::size_t end = at + 1 + head.nodes;
      std::size_t next = at + 1;
      for (std::size_t i = 0; i < head.children; ++i) {
        if (next >= end) throw Error(file_, "has more values than nodes");
        read(children, next, static_cast<std::uint32_t>(next - at), depth + 1);
        next += nodes_[next].nodes_;
      }
      if (next != end || !children.at_end()) throw Error(file_, "has fewer values than nodes");
    }
  }

 private:
  static Node::Place place(ByteReader& bytes) {
    const int line = get_int(bytes);
    return {line, get_int(bytes)};
  }

  const std::string& file_;
  Node* nodes_;
  std::size_t size_;
};

Document::Document(std::string_view bytes, std::string file, std::shared_ptr<const void> owner)
    : owner_(std::move(owner)), file_(std::make_unique<const std::string>(std::move(file))) {
  try {
    ByteReader first(bytes), all(bytes);
    const std::size_t size = DocumentReader::head(first).nodes + 1;
    nodes_.reset(new Node[size]);
    DocumentReader(*file_, nodes_.get(), size).read(all, 0, 0, 0);
    if (!all.at_end()) throw Error(*file_, "has bytes after its values");
  } catch (const Error& error) {
    throw Error(*file_, "its bytes are damaged: " + error.problem(), "build the program anew");
  }
}

void Node::take(const Node& other) {
  file_ = other.file_;
  origin_ = other.origin_ != nullptr ? other.origin_ : &other;
  key_ = other.key_, scalar_ = other.scalar_;
  place_ = other.place_, key_place_ = other.key_place_;
  parent_ = other.parent_, nodes_ = other.nodes_, children_ = other.children_;
  kind_ = other.kind_, quoted_ = other.quoted_;
}

std::string Node::path() const {
  std::string path;
  add_path(path);
  return path;
}

void Node::add_path(std::string& path) const {
  if (origin_ != nullptr) return origin_->add_path(path);
  if (parent_ == 0) return;
  const Node* const parent = this - parent_;
  parent->add_path(path);
  if (parent->is_map()) {
    if (!path.empty()) path += '.';
    path += key_;
    return;
  }
  std::size_t index = 0;
  for (const Node* item = parent->first(); item != this; item = item->next()) ++index;
  path += '[' + std::to_string(index) + ']';
}

void Node::fail(const std::string& what, const std::string& right) const {
  throw Error(location(), path(), what, right);
}

Location Node::at_offset(std::size_t offset) const {
  Location where = location();
  where.column += static_cast<int>(offset) + (quoted_ ? 1 : 0);
  return where;
}

std::string Node::text() const {
  if (kind_ == Kind::null) fail("empty", "a word");
  if (kind_ != Kind::scalar) fail(kind_ == Kind::map ? "a map" : "a list", "a word");
  return std::string(scalar_);
}

std::int64_t Node::integer(std::int64_t least, std::int64_t most) const {
  const auto range = [&] { return "a whole number from " + std::to_string(least) + " to " + std::to_string(most); };
  if (kind_ != Kind::scalar || quoted_) fail("not a number", range());
  std::int64_t value = 0;
  const char* const end = scalar_.data() + scalar_.size();
  const auto [stop, code] = std::from_chars(scalar_.data(), end, value);
  if (code != std::errc{} || stop != end) fail(shown(scalar_) + " is not a whole number", range());
  if (value < least || value > most) fail(shown(scalar_) + " is out of range", range());
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

namespace {

template <class Words>
bool lists(const Words& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

template <class Words>
std::vector<std::string> strings(const Words& words) {
  return {words.begin(), words.end()};
}

}  // namespace

template <class Words>
std::string Node::choose(const Words& allowed) const {
  std::string word = text();
  if (!lists(allowed, word)) fail("unknown " + shown(word), one_of(word, strings(allowed)));
  return word;
}

std::string Node::choice(std::initializer_list<std::string_view> allowed) const { return choose(allowed); }
std::string Node::choice(const std::vector<std::string>& allowed) const { return choose(allowed); }

Children<const Node&> Node::items() const {
  if (kind_ != Kind::sequence) fail("not a list", "a list: [a, b]");
  return {first(), next(), children_};
}

Children<const Node&> Node::items_or_one() const {
  if (kind_ == Kind::sequence) return items();
  return {this, next(), 1};
}

std::vector<std::string> Node::words() const {
  if (kind_ == Kind::scalar) return {text()};
  std::vector<std::string> out;
  out.reserve(children_);
  for (const Node& item : items()) out.push_back(item.text());
  return out;
}

Children<Entry> Node::entries() const {
  if (kind_ != Kind::map) fail(kind_ == Kind::null ? "empty" : "not a map", "name: value pairs");
  return {first(), next(), children_};
}

template <class Keys>
const Node& Node::allow_any(const Keys& keys) const {
  (void)entries();
  for (const Node* node = first(); node != next(); node = node->next()) {
    if (!lists(keys, node->key_))
      throw Error(node->key_location(), path(), "unknown key " + shown(node->key_), one_of(node->key_, strings(keys)));
  }
  return *this;
}

const Node& Node::allow(std::initializer_list<std::string_view> keys) const { return allow_any(keys); }
const Node& Node::allow(const std::vector<std::string>& keys) const { return allow_any(keys); }

const Node& Node::at(std::string_view key) const {
  if (const Node* node = find(key)) return *node;
  fail("key '" + std::string(key) + "' is missing", std::string(key) + ": ...");
}

const Node* Node::find(std::string_view key) const {
  (void)entries();
  for (const Node* node = first(); node != next(); node = node->next()) {
    if (node->key_ == key) return node;
  }
  return nullptr;
}

Document parse(std::string_view text, const std::string& file) {
  auto bytes = std::make_shared<const std::string>(bytes_of(text, file));
  return Document(*bytes, file, bytes);
}

Document embedded(const EmbeddedFile& file) { return Document(file.tree, std::string(file.path)); }

std::string_view embedded_word(const EmbeddedFile& file, std::string_view key) {
  ByteReader bytes(file.tree);
  const auto root = DocumentReader::head(bytes);
  if (root.kind != Node::Kind::map) return {};
  ByteReader entries(root.rest);
  for (std::size_t i = 0; i < root.children; ++i) {
    const auto entry = DocumentReader::head(entries);
    if (entry.key == key) return entry.kind == Node::Kind::scalar ? entry.rest : std::string_view();
  }
  return {};
}

std::string read_file(const std::string& path) { return internal::read_file(path, std::size_t{4} << 20, path); }

}  // namespace napkin::internal::yaml
