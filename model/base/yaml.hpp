#pragma once
// A Node is a value of strict YAML that knows its file, line, column and field path; a Document holds all nodes of one
// text, made of the bytes that yaml_bytes.hpp writes: of a user's file when it is read, of a bundled one by the build.

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/base/embedded.hpp"
#include "model/base/error.hpp"

namespace napkin::internal::yaml {

class Node;

/// A key and its value.
using Entry = std::pair<std::string, const Node&>;

/// The items of a list (Value is const Node&) or the entries of a map (Value is Entry), in file order.
template <class Value>
class Children {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = std::remove_reference_t<Value>;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = Value;

    Iterator() = default;
    explicit Iterator(const Node* at) : at_(at) {}
    Value operator*() const;
    Iterator& operator++();
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const Node* at_ = nullptr;
  };

  Children(const Node* first, const Node* end, std::size_t size) : first_(first), end_(end), size_(size) {}
  [[nodiscard]] Iterator begin() const { return Iterator(first_); }
  [[nodiscard]] Iterator end() const { return Iterator(end_); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] Value operator[](std::size_t index) const {
    return *std::next(begin(), static_cast<std::ptrdiff_t>(index));
  }

 private:
  const Node *first_, *end_;
  std::size_t size_;
};

/// A value of a YAML document. Accessors throw Error (position, field path, what, what would be right).
class Node {
 public:
  enum class Kind : std::uint8_t { null, scalar, sequence, map };

  Node(const Node&) = delete;  // a document stores children after their parent
  Node& operator=(const Node&) = delete;

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] Location location() const { return {*file_, place_.line, place_.column}; }
  /// Returns the position of the value's key; location() for values that have none.
  [[nodiscard]] Location key_location() const {
    return key_place_.line > 0 ? Location{*file_, key_place_.line, key_place_.column} : location();
  }
  /// Returns the value's path: "levels.shared.capacity", "operations[2]"; "" for the document.
  [[nodiscard]] std::string path() const;
  /// Returns the value's key in its map; "" if it is in none.
  [[nodiscard]] std::string key() const { return std::string(key_); }
  [[nodiscard]] bool is_null() const { return kind_ == Kind::null; }
  [[nodiscard]] bool is_scalar() const { return kind_ == Kind::scalar; }
  [[nodiscard]] bool is_sequence() const { return kind_ == Kind::sequence; }
  [[nodiscard]] bool is_map() const { return kind_ == Kind::map; }
  /// Returns true for a scalar in quotes or in a block, which is never a number.
  [[nodiscard]] bool is_quoted() const { return quoted_; }

  /// Returns a scalar that is not empty.
  [[nodiscard]] std::string text() const;
  /// Returns a whole number, written in decimal digits.
  [[nodiscard]] std::int64_t integer(std::int64_t least, std::int64_t most) const;
  /// Returns a finite number, in plain or 1e9 form.
  [[nodiscard]] double number() const;
  /// Returns true for true, on and yes, false for false, off and no. Throws Error for any other word.
  [[nodiscard]] bool boolean() const;
  [[nodiscard]] std::string choice(std::initializer_list<std::string_view> allowed) const;
  [[nodiscard]] std::string choice(const std::vector<std::string>& allowed) const;
  [[nodiscard]] Children<const Node&> items() const;  ///< returns a sequence's items
  /// Returns a sequence's items, or a single value as a sequence of one.
  [[nodiscard]] Children<const Node&> items_or_one() const;
  /// Returns a sequence of scalars, or a single scalar as a sequence of one.
  [[nodiscard]] std::vector<std::string> words() const;

  /// Returns a map's entries. To refuse keys that are not in a list, call allow().
  [[nodiscard]] Children<Entry> entries() const;
  const Node& allow(std::initializer_list<std::string_view> keys) const;
  const Node& allow(const std::vector<std::string>& keys) const;
  [[nodiscard]] const Node& at(std::string_view key) const;    ///< returns the value of a required key
  [[nodiscard]] const Node* find(std::string_view key) const;  ///< returns the value of a key, or nullptr

  [[noreturn]] void fail(const std::string& what, const std::string& right = {}) const;
  /// Returns the position of character `offset` of a one-line scalar, for errors inside small texts.
  [[nodiscard]] Location at_offset(std::size_t offset) const;

 private:
  friend class Document;
  friend class DocumentReader;
  friend class Overlay;
  template <class>
  friend class Children;
  struct Place {
    int line = 0, column = 0;
  };

  Node() = default;
  /// Takes over the content of `other`, which stays valid; the caller takes its descendants too.
  void take(const Node& other);
  void add_path(std::string& path) const;
  [[nodiscard]] const Node* first() const { return this + 1; }
  [[nodiscard]] const Node* next() const { return this + nodes_; }
  template <class Keys>
  const Node& allow_any(const Keys& keys) const;
  template <class Words>
  std::string choose(const Words& allowed) const;

  const std::string* file_ = nullptr;
  const Node* origin_ = nullptr;  ///< node from which an overlay took this one, and whose path it has
  std::string_view key_, scalar_;
  Place place_, key_place_;
  std::uint32_t parent_ = 0;    ///< distance back to the parent; 0 for the document
  std::uint32_t nodes_ = 1;     ///< number of nodes: this one and its descendants, which follow it
  std::uint32_t children_ = 0;  ///< number of children of a sequence or map
  Kind kind_ = Kind::null;
  bool quoted_ = false;
};

template <class Value>
Value Children<Value>::Iterator::operator*() const {
  if constexpr (std::is_reference_v<Value>)
    return *at_;
  else
    return {at_->key(), *at_};
}
template <class Value>
auto Children<Value>::Iterator::operator++() -> Iterator& {
  at_ = at_->next();
  return *this;
}

/// The nodes of one text, each before its descendants. Nodes live as long as the document.
class Document {
 public:
  /// Opens the bytes that bytes_of() wrote, which must stay in place while `owner` is held. Throws Error if they are
  /// damaged.
  Document(std::string_view bytes, std::string file, std::shared_ptr<const void> owner = nullptr);

  [[nodiscard]] const Node& root() const { return nodes_[0]; }

 private:
  friend class Overlay;
  Document() = default;

  std::shared_ptr<const void> owner_;
  std::unique_ptr<const std::string> file_;
  std::unique_ptr<Node[]> nodes_;
  std::vector<Document> parts_;  ///< documents of which an overlay consists
};

/// Parses one document. `file` is used in messages only. Throws Error for everything that is not strict YAML.
[[nodiscard]] Document parse(std::string_view text, const std::string& file);

/// Opens a bundled YAML file. The build made its bytes: no text is parsed.
[[nodiscard]] Document embedded(const EmbeddedFile& file);
/// Returns the word of that key at the top of a bundled YAML file, without making a document; "" if there is none.
[[nodiscard]] std::string_view embedded_word(const EmbeddedFile& file, std::string_view key);

/// Reads a file whole (at most 4 MiB). Throws Error when it cannot be read.
[[nodiscard]] std::string read_file(const std::string& path);

}  // namespace napkin::internal::yaml
