#include "model/base/printable.hpp"

namespace napkin::internal {
namespace {

unsigned byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

/// Returns the length in bytes of a character that begins with `lead`; 0 if none does.
std::size_t length_of(unsigned lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

}  // namespace

Character first_character(std::string_view text) {
  constexpr unsigned least[] = {0, 0, 0x80, 0x800,
                                0x10000};  // least character of 2, 3 and 4 bytes: a lower one has a shorter encoding
  const unsigned lead = byte_at(text, 0);
  const Character invalid{lead, 1, false};
  const std::size_t bytes = length_of(lead);
  if (bytes == 0 || bytes > text.size()) return invalid;
  if (bytes == 1) return {lead, 1, true};
  char32_t code = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte_at(text, i) & 0xc0U) != 0x80) return invalid;
    code = (code << 6U) | (byte_at(text, i) & 0x3fU);
  }
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < least[bytes] || surrogate || code > 0x10ffff ? invalid : Character{code, bytes, true};
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const Character first = first_character(text);
    if (!first.valid) return false;
    text.remove_prefix(first.bytes);
  }
  return true;
}

bool is_control(char32_t code) {
  const auto within = [&](char32_t from, char32_t to) { return code >= from && code <= to; };
  return code < 0x20 || within(0x7f, 0x9f) || within(0x200e, 0x200f) || within(0x2028, 0x202e) ||
         within(0x2066, 0x2069) || code == 0x061c || code == 0xfeff;
}

std::string escape_of(char32_t code) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out = code < 0x100 ? "\\x" : "\\u";
  for (unsigned shift = code < 0x100 ? 8 : 16; shift > 0; shift -= 4) out += digits[(code >> (shift - 4)) & 15U];
  return out;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character first = first_character(text);
    if (first.valid && !is_control(first.code)) {
      out += text.substr(0, first.bytes);
    } else {
      out += escape_of(first.code);
    }
    text.remove_prefix(first.bytes);
  }
  return out;
}

}  // namespace napkin::internal
