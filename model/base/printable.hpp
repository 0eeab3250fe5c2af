#pragma once
// printable() makes a user's text harmless to a terminal: the escape of "\x1b[31m" is printed as a code, not executed.

#include <cstddef>
#include <string>
#include <string_view>

namespace napkin::internal {

/// A character at the front of a text in UTF-8.
struct Character {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;  ///< true for valid UTF-8; else `code` is the first byte's value
};

/// Decodes the first character of a text that is not empty.
[[nodiscard]] Character first_character(std::string_view text);

[[nodiscard]] bool is_utf8(std::string_view text);

/// Returns true for characters that move the cursor, break the line or change the direction of writing: C0, DEL, C1,
/// the separators of lines and paragraphs, marks of direction, the byte order mark.
[[nodiscard]] bool is_control(char32_t code);

/// Returns the escape of a character, "\x1b" up to 255, "\u202e" beyond. YAML reads both between double quotes.
[[nodiscard]] std::string escape_of(char32_t code);

/// Escapes control characters and bytes that are not UTF-8, so that the text takes one line of a terminal.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace napkin::internal
