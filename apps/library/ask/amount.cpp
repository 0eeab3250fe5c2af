#include "apps/library/ask/amount.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "model/base/count.hpp"
#include "napkin/ask.hpp"

namespace napkin::internal {
namespace {

constexpr std::string_view functions = "min, max, ceil, touched";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::int64_t touched(double experts, double chosen, double tokens) {
  return std::llround(experts * (1 - std::pow(1 - chosen / experts, tokens)));
}

/// A reader of an amount's text, which computes the value while it reads.
class Amount {
 public:
  Amount(const yaml::Node& node, const Symbols& symbols) : node_(node), symbols_(symbols), text_(node.text()) {}

  std::int64_t whole() {
    const Count value = sum();
    if (at_ < text_.size()) fail(in_quotes(text_.substr(at_)) + " is left over", "an operator + - * / before it");
    return value.get();
  }

 private:
  static constexpr int most_deep = 64;

  [[noreturn]] void fail(const std::string& what, const std::string& right) const {
    throw Error(node_.at_offset(std::min(at_, text_.size())), node_.path(), what, right);
  }
  char next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }
  Count sum() {
    if (++depth_ > most_deep) fail("brackets in more than 64 brackets", "fewer");
    Count value = product();
    for (char c = next(); c == '+' || c == '-'; c = next()) {
      ++at_;
      value = c == '+' ? value + product() : value - product();
    }
    --depth_;
    return value;
  }
  Count product() {
    Count value = factor();
    for (char c = next(); c == '*' || c == '/'; c = next()) {
      const std::size_t operator_at = at_++;
      const Count other = factor();
      if (c == '*') {
        value *= other;
        continue;
      }
      if (other == Count(0) || value % other != Count(0)) {
        at_ = operator_at;
        fail(std::to_string(value.get()) + " / " + std::to_string(other.get()) + " is no whole number",
             "sizes that divide, or ceil(a, b)");
      }
      value = value / other;
    }
    return value;
  }
  Count factor() {
    const char c = next();
    if (take('(')) {
      const Count value = sum();
      close();
      return value;
    }
    const std::size_t from = at_;
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    const std::string word = text_.substr(from, at_ - from);
    if (is_letter(c)) return take('(') ? call(word, from) : symbol(word, from);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (word.empty() || error != std::errc() || end != word.data() + word.size()) {
      at_ = from;
      fail(word.empty() ? "a size is missing" : in_quotes(word) + " is no whole number", "a number or a symbol");
    }
    return number;
  }
  void close() {
    if (!take(')')) fail("a bracket is not closed", ")");
  }
  Count symbol(const std::string& word, std::size_t from) {
    std::vector<std::string> names;
    for (const auto& [name, value] : symbols_) {
      if (name == word) return value;
      names.push_back(name);
    }
    at_ = from;
    fail(in_quotes(word) + " is no symbol here", one_of(word, names));
  }
  Count call(const std::string& word, std::size_t from) {
    std::vector<Count> values{sum()};
    while (take(',')) values.push_back(sum());
    close();
    const auto takes = [&](std::size_t count) {
      if (values.size() == count) return;
      at_ = from;
      fail(word + " takes " + std::to_string(count) + " amounts", word == "ceil" ? "ceil(a, b)" : "touched(e, k, t)");
    };
    if (word == "min") return *std::min_element(values.begin(), values.end());
    if (word == "max") return *std::max_element(values.begin(), values.end());
    if (word == "ceil") {
      takes(2);
      if (values[0] < Count(0) || values[1] < Count(1)) fail("ceil of amounts below 1", "ceil(a, b) with b from 1");
      return ceil_div(values[0], values[1]);
    }
    if (word == "touched") {
      takes(3);
      if (values[1] < Count(1) || values[1] > values[0] || values[2] < Count(0))
        fail("touched(e, k, t) with k not from 1 to e", "as many chosen experts as there are, or fewer");
      return touched(real(values[0]), real(values[1]), real(values[2]));
    }
    at_ = from;
    fail(in_quotes(word) + " is no function", std::string(functions));
  }

  const yaml::Node& node_;
  const Symbols& symbols_;
  std::string text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::int64_t amount_of(const yaml::Node& node, const Symbols& symbols, std::int64_t least) {
  try {
    const std::int64_t value = Amount(node, symbols).whole();
    if (value < least) node.fail("is " + std::to_string(value), "at least " + std::to_string(least));
    return value;
  } catch (const Overflow& error) {
    node.fail(error.problem(), error.right());
  }
}

}  // namespace napkin::internal
