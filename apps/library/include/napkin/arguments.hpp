#pragma once
// parse_shape turns a user's "q=8192,x=8192" into sizes by name, and its neighbours turn tiles, lengths, ranges and
// masks into values. Every mistake is an Error at `where` that says what would be right; nothing is guessed.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/diagram/problem.hpp"
#include "model/mapping/tile.hpp"

namespace napkin {

using NamedSizes = std::vector<std::pair<std::string, std::int64_t>>;

/// Quotes a user's text for a message: at most 40 bytes, anything unprintable escaped.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// Splits a list into words: "a, b,c" into three. Throws Error for an empty word.
[[nodiscard]] std::vector<std::string> parse_words(std::string_view text, const std::string& where,
                                                   const std::string& right);

/// Parses a whole number of decimal digits, from `least` to 2^63 - 1.
[[nodiscard]] std::int64_t parse_number(std::string_view text, std::int64_t least, const std::string& where,
                                        const std::string& what);

/// Parses a number above 0 such as "1.41".
[[nodiscard]] double parse_positive(std::string_view text, const std::string& where, const std::string& what);

/// Parses sizes: "q=8192,x=8192". Names occur once; sizes are whole numbers from 1.
[[nodiscard]] NamedSizes parse_shape(std::string_view text, const std::string& where = "--shape");

/// Parses the sequences of a packed batch: "512,4096,1,0,64*1x8192". A number is a length of queries and keys, QxX of
/// queries and of keys, a prefix N* repeats. At most 2^20 sequences.
[[nodiscard]] std::vector<SequenceLengths> parse_lengths(std::string_view text, const std::string& where = "--lengths");

/// Sizes that several axes take together: `from`, every multiple of `step` between, and `to`.
struct SizeRange {
  std::int64_t from = 1, to = 1, step = 64;
  [[nodiscard]] std::vector<std::int64_t> points() const;
  bool operator==(const SizeRange&) const = default;
};

/// A shape with a range of sizes for some axes: "h=16,q=512..16384,x=512..16384,d=128", or "q=512..16384:64" with a
/// step. Without one the step is the least power of two from 64 that takes at most 32 steps. All ranges must be equal,
/// and grow together.
struct ShapeFamily {
  NamedSizes fixed;
  std::vector<std::string> axes;  ///< axes that take each size of the range; empty: a single shape
  SizeRange range;
  /// Returns the shape with the range's axes at `size`.
  [[nodiscard]] NamedSizes at(std::int64_t size) const;
};
[[nodiscard]] ShapeFamily parse_family(std::string_view text, const std::string& where = "--shape");

/// Parses knobs: "q=128,stages=2,pingpong=on,registers.q=64". Names occur once; each knob checks its value later.
[[nodiscard]] TileText parse_tile(std::string_view text, const std::string& where = "--tile");

/// Parses fractions: "P=0.66,O=1". Names occur once; values are numbers from 0.
[[nodiscard]] std::vector<std::pair<std::string, double>> parse_fractions(std::string_view text,
                                                                          const std::string& where);

/// Parses a window mask: "L,R", whole numbers from 0.
[[nodiscard]] Mask parse_window(std::string_view text, const std::string& where = "--window");

}  // namespace napkin
