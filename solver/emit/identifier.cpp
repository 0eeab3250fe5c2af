#include "solver/emit/identifier.hpp"

#include <algorithm>
#include <array>

namespace napkin::internal::emit {
namespace {

/// Keywords of C++20 and Python 3 that a YAML author could well choose as a name, sorted.
constexpr std::array<std::string_view, 101> keywords{
    "False",     "None",     "True",      "alignas",   "alignof",  "and",       "as",        "asm",
    "assert",    "async",    "auto",      "await",     "bool",     "break",     "case",      "catch",
    "char",      "char8_t",  "class",     "co_await",  "concept",  "const",     "consteval", "constexpr",
    "constinit", "continue", "co_return", "co_yield",  "decltype", "def",       "default",   "del",
    "delete",    "do",       "double",    "elif",      "else",     "enum",      "except",    "explicit",
    "export",    "extern",   "false",     "finally",   "float",    "for",       "friend",    "from",
    "global",    "goto",     "if",        "import",    "in",       "inline",    "int",       "is",
    "lambda",    "long",     "mutable",   "namespace", "new",      "noexcept",  "nonlocal",  "not",
    "nullptr",   "operator", "or",        "pass",      "private",  "protected", "public",    "raise",
    "register",  "requires", "return",    "short",     "signed",   "sizeof",    "static",    "static_assert",
    "struct",    "switch",   "template",  "this",      "throw",    "true",      "try",       "typedef",
    "typeid",    "typename", "union",     "unsigned",  "using",    "virtual",   "void",      "volatile",
    "wchar_t",   "while",    "with",      "xor",       "yield"};

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
constexpr char to_upper(char c) { return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c; }

std::string plain(std::string_view name) {
  std::string text;
  for (char c : name) text += is_digit(c) || is_lower(c) || is_upper(c) ? c : '_';
  if (text.empty() || is_digit(text.front())) text.insert(text.begin(), '_');
  return text;
}

}  // namespace

std::string identifier(std::string_view name) {
  std::string text = plain(name);
  if (std::find(keywords.begin(), keywords.end(), text) != keywords.end()) text += '_';
  return text;
}

std::string upper_identifier(std::string_view name) {
  std::string text = plain(name);
  std::transform(text.begin(), text.end(), text.begin(), to_upper);
  return text;
}

std::string type_identifier(std::string_view name) {
  std::string text;
  bool start = true;
  for (char c : plain(name)) {
    if (c == '_') {
      start = true;
      continue;
    }
    text += start ? to_upper(c) : c;
    start = false;
  }
  if (text.empty() || is_digit(text.front())) text.insert(text.begin(), 'T');
  return text;
}

}  // namespace napkin::internal::emit
