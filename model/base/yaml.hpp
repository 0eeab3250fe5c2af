#pragma once
// A Node is a value of strict YAML that knows its file, line, column and field path; unknown keys, duplicate keys,
// aliases, tags, several documents and deep nesting are errors. The only user of yaml-cpp is yaml.cpp.

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/base/error.hpp"

namespace napkin::yaml {

/// One value of a YAML document. Accessors throw Error (position, field path, what, what would be right).
class Node {
 public:
  enum class Kind { null, scalar, sequence, map };

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] Location location() const { return {*file_, place_.line, place_.column}; }
  /// Where this value's key stands; location() for values that have none.
  [[nodiscard]] Location key_location() const {
    return key_place_.line > 0 ? Location{*file_, key_place_.line, key_place_.column} : location();
  }
  /// "levels.shared.capacity", "operations[2]"; "" for the document.
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool is_null() const { return kind_ == Kind::null; }
  [[nodiscard]] bool is_scalar() const { return kind_ == Kind::scalar; }
  [[nodiscard]] bool is_sequence() const { return kind_ == Kind::sequence; }
  [[nodiscard]] bool is_map() const { return kind_ == Kind::map; }
  /// True for a scalar written in quotes (or as a block): never a number.
  [[nodiscard]] bool is_quoted() const { return quoted_; }

  [[nodiscard]] const std::string& text() const;                                    ///< a scalar, not empty
  [[nodiscard]] std::int64_t integer(std::int64_t least, std::int64_t most) const;  ///< decimal digits only
  [[nodiscard]] double number() const;                                              ///< finite, plain or 1e9 form
  [[nodiscard]] bool boolean() const;                                               ///< true/false/on/off/yes/no
  [[nodiscard]] std::string choice(const std::vector<std::string>& allowed) const;
  [[nodiscard]] const std::vector<Node>& items() const;  ///< a sequence
  /// A sequence, or a single scalar taken as a sequence of one.
  [[nodiscard]] std::vector<std::string> words() const;

  /// A map, in file order. allow() refuses any key not in the list.
  [[nodiscard]] const std::vector<std::pair<std::string, Node>>& entries() const;
  const Node& allow(const std::vector<std::string>& keys) const;
  [[nodiscard]] const Node& at(std::string_view key) const;    ///< required
  [[nodiscard]] const Node* find(std::string_view key) const;  ///< or nullptr

  [[noreturn]] void fail(const std::string& what, const std::string& right = {}) const;
  /// The position of character `offset` of a one-line scalar: for errors inside small texts.
  [[nodiscard]] Location at_offset(std::size_t offset) const;

 private:
  friend class Builder;
  friend class Overlay;
  Kind kind_ = Kind::null;
  bool quoted_ = false;
  struct Place {
    int line = 0, column = 0;
  };
  std::shared_ptr<const std::string> file_;  ///< one text for all values of a document
  Place place_, key_place_;
  std::string path_;
  std::string scalar_;
  std::vector<Node> items_;
  std::vector<std::pair<std::string, Node>> entries_;
};

/// Parses one document. `file` is used in messages only. Throws Error for everything that is not strict YAML.
[[nodiscard]] Node parse(std::string_view text, const std::string& file);

/// Reads a file whole (at most 4 MiB). Throws Error when it cannot be read.
[[nodiscard]] std::string read_file(const std::string& path);

}  // namespace napkin::yaml
