#pragma once
// bytes_of parses a YAML text with yaml-cpp and writes its values as the bytes that a Document is made of; they are a
// hundred times as quick to read as the text. This is the only user of yaml-cpp.
//
// A value is a byte (kind, whether it is quoted, whether it has a key), its key with the key's place, its own place,
// and a scalar's text or a list's or map's number of children, number of nodes and size in bytes, followed by its
// children.

#include <cstdint>
#include <string>
#include <string_view>

namespace napkin::internal::yaml {

constexpr std::size_t max_depth = 32;  // nesting of values
constexpr std::uint8_t kind_bits = 3, quoted_bit = 4, key_bit = 8;

/// Shortens a user's word for a message: 'short', or 'the first 37 characters of a lo...'.
[[nodiscard]] std::string shown(std::string_view word);

/// Converts strict YAML to the bytes that Document opens. Throws Error (file:line:column, field path) for everything
/// else: duplicate keys, aliases, tags, several documents, deep nesting.
[[nodiscard]] std::string bytes_of(std::string_view text, const std::string& file);

}  // namespace napkin::internal::yaml
