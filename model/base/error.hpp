#pragma once
// An Error reports bad input: the place, what is wrong, and what would be right. No other exception does.

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace napkin {

/// A place in a text: file, line and column, both from 1. Line 0: no position is known.
struct Location {
  std::string file;
  int line = 0;
  int column = 0;

  /// Returns "file:line:column", or the file alone if no line is known.
  [[nodiscard]] std::string text() const;
  bool operator==(const Location&) const = default;
};

/// Bad input of a user. what() is "where: what: right" (parts that are empty are left out).
class Error : public std::runtime_error {
 public:
  Error(std::string where, std::string what, std::string right = {});
  Error(const Location& location, const std::string& field, std::string what, std::string right = {});

  [[nodiscard]] const std::string& where() const { return where_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] const std::string& right() const { return right_; }

 private:
  std::string where_, problem_, right_;
};

/// A count that does not fit 64 bits, named in the message. Counts never wrap.
class Overflow : public Error {
 public:
  explicit Overflow(const std::string& what);
};

/// Finds the candidate that `name` means: equal but for case, else the word of other programs ("head_dim": "d"), else a
/// candidate that begins with it, else the nearest by edit distance; "" if none is near.
[[nodiscard]] std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

/// Joins words: "a, b, c".
[[nodiscard]] std::string joined(const std::vector<std::string>& words, std::string_view separator = ", ");

/// Returns "did you mean 'near'?" if a candidate is near, else "one of a, b, c".
[[nodiscard]] std::string one_of(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace napkin
