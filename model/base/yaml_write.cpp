#include "model/base/yaml_write.hpp"

#include <cctype>
#include <string_view>

#include "model/base/printable.hpp"

namespace napkin::internal::yaml {

std::string written(const std::string& word) {
  const bool reserved = word == "null" || word == "Null" || word == "NULL";
  bool plain = !word.empty() && !reserved && std::isalpha(static_cast<unsigned char>(word[0])) != 0;
  for (char c : word) plain = plain && (c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0);
  if (plain) return word;
  std::string quoted = "\"";
  for (std::string_view rest = word; !rest.empty();) {
    const Character first = first_character(rest);
    if (first.code == '"' || first.code == '\\') quoted += '\\';
    if (!first.valid || is_control(first.code)) {
      quoted += escape_of(first.code);
    } else {
      quoted += rest.substr(0, first.bytes);
    }
    rest.remove_prefix(first.bytes);
  }
  return quoted + "\"";
}

}  // namespace napkin::internal::yaml
