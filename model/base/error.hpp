#pragma once
// An Error is the one way bad input is reported: where it stands, what is wrong, and what would be right.

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

  /// "file:line:column", or the file alone where no line is known.
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

/// A count that does not fit 64 bits. Never a wrap: huge shapes are refused with the quantity's name.
class Overflow : public Error {
 public:
  explicit Overflow(const std::string& what);
};

/// The candidate that `name` is but for case, else what other programs' word means here ("head_dim": "d"), else the one
/// that begins with it, else the nearest by edit distance; "" where none is near. For "did you mean".
[[nodiscard]] std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

/// "a, b, c"
[[nodiscard]] std::string joined(const std::vector<std::string>& words, std::string_view separator = ", ");

/// "did you mean 'near'?" where one is near, else "one of a, b, c".
[[nodiscard]] std::string one_of(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace napkin
