#pragma once
// A Table aligns columns of text: names to the left, numbers to the right.

#include <string>
#include <string_view>
#include <vector>

namespace napkin::internal::report {

/// The decoration of text; none unless it goes to a terminal that wants it.
struct Style {
  bool colour = false;
  [[nodiscard]] std::string strong(std::string_view text) const;
  [[nodiscard]] std::string faint(std::string_view text) const;
};

/// A table whose columns are as wide as their longest cell. Columns of empty cells are left out.
class Table {
 public:
  /// Begins a table. A header that begins with '<' is of a column aligned to the left; the others are aligned to the
  /// right.
  explicit Table(std::vector<std::string> header);
  void add(std::vector<std::string> row);
  [[nodiscard]] std::string text(const Style& style, std::string_view indent = "") const;

 private:
  std::vector<std::string> header_;
  std::vector<bool> left_;
  std::vector<std::vector<std::string>> rows_;
};

/// Breaks `text` at blanks into lines of at most `width` characters, all but the first indented.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t width, std::string_view indent);

}  // namespace napkin::internal::report
