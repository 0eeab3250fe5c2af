#pragma once
// A Formula is an arithmetic expression over named values, such as "a.s * exp(a.m - max(a.m, b.m))", in which users
// write the state of their own accumulators.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace napkin::internal {

/// formula := term {("+" | "-") term};  term := factor {("*" | "/") factor}
/// factor  := NUMBER | NAME | "-" factor | "(" formula ")" | FUNCTION "(" formula {"," formula} ")"
/// FUNCTION: max, min, exp, log, sqrt, abs, and less, equal, which are 1 or 0; where (c, a, b) is a, or b for c = 0.
class Formula {
 public:
  /// A function that reports an error in a text, (offset, what is wrong, what would be right), and does not return.
  using Refuse = std::function<void(std::size_t, const std::string&, const std::string&)>;

  Formula() = default;
  /// Parses a text. Its names must be among `names`; values are later given in that order.
  static Formula parse(std::string_view text, const std::vector<std::string>& names, const Refuse& refuse);

  [[nodiscard]] double operator()(const std::vector<double>& values) const;
  [[nodiscard]] const std::string& text() const { return text_; }
  bool operator==(const Formula& other) const { return text_ == other.text_; }

 private:
  friend class FormulaParser;
  /// A step of a stack machine: a constant, a value by its place, or a function of the topmost values.
  struct Step {
    enum class Kind { constant, value, function } kind = Kind::constant;
    double constant = 0;
    std::size_t index = 0;  ///< place of the value, or index of the function
  };
  std::string text_;
  std::vector<Step> steps_;
};

}  // namespace napkin::internal
