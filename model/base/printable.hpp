#pragma once
// printable() keeps a user's text from doing anything to a terminal: "\x1b[31m" is shown by its code, not obeyed.

#include <cstddef>
#include <string>
#include <string_view>

namespace napkin {

/// A character at the front of a text in UTF-8.
struct Character {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool valid = false;  ///< else `code` is the first byte's value, and no UTF-8 begins there
};

/// Of a text that is not empty.
[[nodiscard]] Character first_character(std::string_view text);

[[nodiscard]] bool is_utf8(std::string_view text);

/// One that moves the cursor, breaks the line or turns the order of writing, where it should stand for itself: C0, DEL,
/// C1, the separators of lines and paragraphs, marks of direction, the byte order mark.
[[nodiscard]] bool is_control(char32_t code);

/// "\x1b" up to 255, "\u202e" beyond. YAML reads both back between double quotes.
[[nodiscard]] std::string escape_of(char32_t code);

/// One line for a terminal: control characters and bytes that are no UTF-8 by their codes, all else as it stands.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace napkin
