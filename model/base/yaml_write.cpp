#include "model/base/yaml_write.hpp"

#include <cctype>

namespace napkin::yaml {

std::string written(const std::string& word) {
  const bool reserved = word == "null" || word == "Null" || word == "NULL";
  bool plain = !word.empty() && !reserved && std::isalpha(static_cast<unsigned char>(word[0])) != 0;
  for (char c : word) plain = plain && (c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0);
  if (plain) return word;
  constexpr char digits[] = "0123456789abcdef";
  std::string quoted = "\"";
  for (char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += "\\x";
      quoted += digits[byte >> 4];
      quoted += digits[byte & 15];
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace napkin::yaml
