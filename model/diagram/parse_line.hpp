#pragma once
// A Line is a one-line text of a diagram's file, read word by word: "S[q,x] = contract over d (Q, K)". Every failure
// carries the exact column. Internal to the folder.

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "model/base/yaml.hpp"

namespace napkin::internal::diagram_text {

constexpr std::int64_t max_power = 1000;
constexpr std::int64_t max_stride = std::int64_t{1} << 31;

inline bool is_name(std::string_view word) {
  if (word.empty() || word.size() > 64 || std::isalpha(static_cast<unsigned char>(word[0])) == 0) return false;
  return std::all_of(word.begin(), word.end(),
                     [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; });
}

/// A word of a one-line text and where it stands.
struct Word {
  std::string text;
  std::size_t offset = 0;
};

/// "x: 2*i + k - 1" or "p: T[n]", with the place of its first axis in WrittenArray::axes.
struct WrittenIndex {
  Word of;
  std::size_t first = 0;
  std::vector<std::int64_t> strides;  // strides by axis that reads it; 0 for each axis of a table
  std::int64_t offset = 0;
  std::optional<Word> table;
};

/// "NAME[axis,axis]" as written; axes that read one dimension stand in the place of that dimension.
struct WrittenArray {
  Word name;
  std::vector<Word> axes;
  std::vector<WrittenIndex> indices;
};

/// Reads one line, word by word. Every failure carries the exact column.
class Line {
 public:
  explicit Line(const yaml::Node& node) : node_(node), text_(node.text()) { skip(); }

  [[noreturn]] void fail(std::size_t offset, const std::string& what, const std::string& right) const {
    throw Error(node_.at_offset(offset), node_.path(), what, right);
  }
  [[noreturn]] void fail(const Word& word, const std::string& what, const std::string& right) const {
    fail(word.offset, what, right);
  }

  [[nodiscard]] Location at(const Word& word) const { return node_.at_offset(word.offset); }
  [[nodiscard]] bool done() const { return at_ == text_.size(); }
  [[nodiscard]] std::size_t offset() const { return at_; }

  bool accept(char symbol) {
    if (done() || text_[at_] != symbol) return false;
    ++at_;
    skip();
    return true;
  }
  void expect(char symbol, const std::string& after) {
    if (!accept(symbol)) fail(at_, found(), std::string("'") + symbol + "' " + after);
  }
  void expect_end() {
    if (!done()) fail(at_, found(), "the end of the line, 'scale ...', 'mask (row, column)' or 'type ...'");
  }

  [[nodiscard]] bool sees_word() const { return !done() && std::isalpha(static_cast<unsigned char>(text_[at_])) != 0; }
  Word word(const std::string& wanted) {
    Word w{{}, at_};
    while (!done() && (text_[at_] == '_' || std::isalnum(static_cast<unsigned char>(text_[at_])) != 0)) {
      w.text += text_[at_++];
    }
    if (w.text.empty()) fail(at_, found(), wanted);
    if (!is_name(w.text)) fail(w, "'" + w.text + "' is not a name", wanted + ": a letter, then letters, digits or _");
    skip();
    return w;
  }

  double number() {
    double value = 0;
    const char* const begin = text_.data() + at_;
    const auto [stop, code] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (code != std::errc{} || !std::isfinite(value)) fail(at_, found(), "a finite number such as 0.125");
    advance(stop - begin);
    return value;
  }
  int integer() { return static_cast<int>(integer(max_power)); }
  std::int64_t integer(std::int64_t most) {
    std::int64_t value = 0;
    const char* const begin = text_.data() + at_;
    const auto [stop, code] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (code != std::errc{} || value > most || value < -most)
      fail(at_, found(), most == max_power ? "a whole number" : "a whole number of at most " + std::to_string(most));
    advance(stop - begin);
    return value;
  }

  WrittenArray array() {
    WrittenArray a{word("an array: NAME[axis,axis]"), {}, {}};
    expect('[', "after the array's name: NAME[axis,axis]");
    if (accept(']')) return a;
    do dimension(a);
    while (accept(','));
    expect(']', "or ',' after an axis");
    return a;
  }

 private:
  /// Parses a dimension: "i", "x: 2*i + k - 1" or "p: T[n]".
  void dimension(WrittenArray& a) {
    const Word name = word("an axis");
    if (!accept(':')) {
      a.axes.push_back(name);
      return;
    }
    WrittenIndex index{name, a.axes.size(), {}, 0, {}};
    const std::size_t begin = at_;
    bool negative = accept('-');
    do {
      term(a, index, negative);
      if (index.table) break;
      negative = !done() && text_[at_] == '-';
    } while (accept('+') || accept('-'));
    if (index.strides.empty()) fail(begin, "a row that no axis reads", "for example 2*i + k - 1");
    a.indices.push_back(std::move(index));
  }

  /// Parses a term of a dimension: "2*i", "i", "1", or the whole of "T[n]".
  void term(WrittenArray& a, WrittenIndex& index, bool negative) {
    const std::size_t begin = at_;
    std::int64_t factor = 1;
    if (!sees_word()) {
      if (done() || std::isdigit(static_cast<unsigned char>(text_[at_])) == 0)
        fail(begin, found(), "an axis, a stride and an axis, or a number");
      factor = integer(max_stride);
      if (!accept('*')) {
        index.offset += negative ? -factor : factor;
        if (index.offset > max_stride || index.offset < -max_stride) fail(begin, "an offset that is too large", "less");
        return;
      }
    }
    const Word axis = word("an axis");
    if (accept('[')) return table(a, index, axis, begin);
    if (negative || factor < 1) fail(begin, "rows that go backward", "a stride of at least 1 in front of " + axis.text);
    a.axes.push_back(axis);
    index.strides.push_back(factor);
  }

  void table(WrittenArray& a, WrittenIndex& index, const Word& name, std::size_t begin) {
    if (begin != name.offset || !index.strides.empty() || index.offset != 0)
      fail(begin, "a table's rows with a stride or an offset", index.of.text + ": " + name.text + "[axis]");
    do {
      a.axes.push_back(word("an axis of the table"));
      index.strides.push_back(0);
    } while (accept(','));
    expect(']', "or ',' after an axis of the table");
    index.table = name;
  }

  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  void advance(std::ptrdiff_t n) {
    at_ += static_cast<std::size_t>(n);
    skip();
  }
  std::string found() const {
    if (done()) return "the line ends here";
    return "unexpected '" + text_.substr(at_, std::min<std::size_t>(12, text_.find(' ', at_) - at_)) + "'";
  }

  const yaml::Node& node_;
  std::string text_;
  std::size_t at_ = 0;
};

}  // namespace napkin::internal::diagram_text
