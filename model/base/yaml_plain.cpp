#include "model/base/yaml_plain.hpp"

#include <yaml-cpp/emitterstyle.h>
#include <yaml-cpp/mark.h>

#include <algorithm>
#include <string>
#include <vector>

namespace napkin::yaml {
namespace {

constexpr std::string_view plain_tag = "?", quoted_tag = "!";
constexpr int deepest = 24;

/// What this reader leaves to yaml-cpp.
struct NotPlain {};

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

/// A character that has no meaning of its own anywhere but at the beginning of a word.
bool is_inner(char c) { return is_word(c) || std::string_view(" .-+*/^()<>=;'~%|$").find(c) != std::string_view::npos; }

/// A line that is neither empty nor a comment.
struct Line {
  std::string_view text;  ///< behind its indentation
  int indent = 0, number = 0;
};

class PlainReader {
 public:
  PlainReader(std::string_view text, YAML::EventHandler& handler) : handler_(handler) { split(text); }

  void read() {
    if (lines_.empty() || lines_.front().indent != 0 || lines_.front().text.starts_with("-")) throw NotPlain();
    handler_.OnDocumentStart(mark(lines_.front().text.data()));
    read_map(0, 0);
    if (at_ != lines_.size()) throw NotPlain();
    handler_.OnDocumentEnd();
  }

 private:
  void split(std::string_view text) {
    int number = 0;
    for (std::size_t begin = 0; begin < text.size(); ++number) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      std::string_view line = text.substr(begin, end - begin);
      begin = end + 1;
      const std::size_t indent = line.find_first_not_of(' ');
      if (indent == std::string_view::npos || line[indent] == '#') continue;
      line.remove_prefix(indent);
      if (line.starts_with("---") || line.starts_with("...")) throw NotPlain();
      lines_.push_back({line, static_cast<int>(indent), number});
    }
  }

  [[nodiscard]] const Line& line() const { return lines_[at_]; }
  [[nodiscard]] bool ended() const { return at_ == lines_.size(); }

  /// The position of a character of the line at hand.
  [[nodiscard]] YAML::Mark mark(const char* character) const {
    YAML::Mark out;
    out.line = line().number;
    out.column = line().indent + static_cast<int>(character - line().text.data());
    return out;
  }
  void tell(const char* begin, std::string_view value, std::string_view tag = plain_tag) {
    handler_.OnScalar(mark(begin), std::string(tag), 0, std::string(value));
  }
  void open_map(const char* begin, YAML::EmitterStyle::value style) {
    handler_.OnMapStart(mark(begin), std::string(plain_tag), 0, style);
  }
  void open_list(const char* begin, YAML::EmitterStyle::value style) {
    handler_.OnSequenceStart(mark(begin), std::string(plain_tag), 0, style);
  }

  /// The word that `rest` begins with, up to a character that cannot be part of one, without trailing spaces. `open`:
  /// outside {} and [], where commas and quotes are part of it.
  static std::string_view word(std::string_view rest, bool open) {
    if (rest.empty()) throw NotPlain();
    const bool number = rest.size() > 1 && (rest[0] == '-' || rest[0] == '.' || rest[0] == '+') && is_word(rest[1]);
    if (!is_word(rest[0]) && !number) throw NotPlain();
    std::size_t end = 1;
    while (end < rest.size() && (is_inner(rest[end]) || (open && (rest[end] == ',' || rest[end] == '"')))) ++end;
    while (rest[end - 1] == ' ') --end;
    return rest.substr(0, end);
  }
  static std::string_view without_spaces(std::string_view rest) {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    return rest;
  }
  static bool ends(std::string_view behind) {
    const std::string_view rest = without_spaces(behind);
    return rest.empty() || (rest.front() == '#' && rest.size() < behind.size());
  }

  /// The key of the line at hand; `rest` is what stands behind its colon.
  std::string_view key(std::string_view& rest) const {
    const std::string_view name = word(line().text, false);
    rest = line().text.substr(name.size());
    if (!rest.starts_with(':') || (rest.size() > 1 && rest[1] != ' ')) throw NotPlain();
    rest.remove_prefix(1);
    return name;
  }

  void read_map(int indent, int depth) {
    if (depth > deepest) throw NotPlain();
    open_map(line().text.data(), YAML::EmitterStyle::Block);
    for (; !ended() && line().indent == indent;) {
      std::string_view rest;
      const std::string_view name = key(rest);
      tell(name.data(), name);
      if (ends(rest)) {
        ++at_;
        read_block_below(indent, depth);
      } else {
        read_rest_of_line(without_spaces(rest), indent, depth);
      }
    }
    if (!ended() && line().indent > indent) throw NotPlain();
    handler_.OnMapEnd();
  }

  /// What belongs to a key that nothing stands behind: deeper lines, or a list that is no deeper.
  void read_block_below(int indent, int depth) {
    if (ended()) throw NotPlain();
    const bool list = line().text.starts_with("- ");
    if (line().indent < indent + (list ? 0 : 1)) throw NotPlain();
    if (list)
      read_list(line().indent, depth + 1);
    else
      read_map(line().indent, depth + 1);
  }

  void read_list(int indent, int depth) {
    if (depth > deepest) throw NotPlain();
    open_list(line().text.data(), YAML::EmitterStyle::Block);
    while (!ended() && line().indent == indent && line().text.starts_with("- ")) {
      const std::string_view item = without_spaces(line().text.substr(2));
      if (item.empty() || item.starts_with("- ")) throw NotPlain();
      if (item.front() != '{' && item.front() != '[' && item.front() != '"' && is_key(item)) {
        lines_[at_].indent += static_cast<int>(item.data() - line().text.data());
        lines_[at_].text = item;
        read_map(line().indent, depth + 1);
      } else {
        read_rest_of_line(item, indent, depth);
      }
    }
    if (!ended() && line().indent > indent) throw NotPlain();
    handler_.OnSequenceEnd();
  }

  static bool is_key(std::string_view item) { return item.substr(word(item, true).size()).starts_with(':'); }

  void read_rest_of_line(std::string_view rest, int indent, int depth) {
    const std::string_view behind = read_value(rest, true, depth + 1);
    if (!ends(behind)) throw NotPlain();
    ++at_;
    if (!ended() && line().indent > indent) throw NotPlain();  // a value of several lines
  }

  /// Reads one value and returns what stands behind it.
  std::string_view read_value(std::string_view rest, bool open, int depth) {
    if (rest.empty() || depth > deepest) throw NotPlain();
    if (rest.front() == '{') return read_flow_map(rest, depth);
    if (rest.front() == '[') return read_flow_list(rest, depth);
    if (rest.front() == '"') return read_quoted(rest);
    const std::string_view value = word(rest, open);
    tell(value.data(), value);
    return rest.substr(value.size());
  }

  std::string_view read_quoted(std::string_view rest) {
    const std::size_t end = rest.find('"', 1);
    if (end == std::string_view::npos) throw NotPlain();
    const std::string_view value = rest.substr(1, end - 1);
    if (value.find('\\') != std::string_view::npos) throw NotPlain();
    tell(rest.data(), value, quoted_tag);
    return rest.substr(end + 1);
  }

  /// Behind a value of a {...} or [...]: true where another one follows.
  static bool read_comma(std::string_view& rest, char closing) {
    rest = without_spaces(rest);
    if (rest.empty() || (rest.front() != ',' && rest.front() != closing)) throw NotPlain();
    const bool more = rest.front() == ',';
    rest.remove_prefix(1);
    if (more) rest = without_spaces(rest);
    return more;
  }

  std::string_view read_flow_map(std::string_view rest, int depth) {
    open_map(rest.data(), YAML::EmitterStyle::Flow);
    rest = without_spaces(rest.substr(1));
    const bool empty = rest.starts_with('}');
    if (empty) rest.remove_prefix(1);
    for (bool more = !empty; more; more = read_comma(rest, '}')) {
      const std::string_view name = word(rest, false);
      tell(name.data(), name);
      rest.remove_prefix(name.size());
      if (!rest.starts_with(": ")) throw NotPlain();
      rest = read_value(without_spaces(rest.substr(2)), false, depth + 1);
    }
    handler_.OnMapEnd();
    return rest;
  }

  std::string_view read_flow_list(std::string_view rest, int depth) {
    open_list(rest.data(), YAML::EmitterStyle::Flow);
    rest = without_spaces(rest.substr(1));
    const bool empty = rest.starts_with(']');
    if (empty) rest.remove_prefix(1);
    for (bool more = !empty; more; more = read_comma(rest, ']')) rest = read_value(rest, false, depth + 1);
    handler_.OnSequenceEnd();
    return rest;
  }

  YAML::EventHandler& handler_;
  std::vector<Line> lines_;
  std::size_t at_ = 0;
};

}  // namespace

bool read_plain(std::string_view text, YAML::EventHandler& handler) {
  const auto other = [](char c) { return static_cast<unsigned char>(c) >= 0x7f || (c < ' ' && c != '\n'); };
  if (std::any_of(text.begin(), text.end(), other)) return false;
  try {
    PlainReader(text, handler).read();
    return true;
  } catch (const NotPlain&) {
    return false;
  }
}

}  // namespace napkin::yaml
