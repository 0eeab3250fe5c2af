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

/// A user's text as messages show it: in quotes, at most 40 bytes, anything unprintable escaped.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// "a, b,c" as its words. Empty ones are errors.
[[nodiscard]] std::vector<std::string> parse_words(std::string_view text, const std::string& where,
                                                   const std::string& right);

/// A whole number of decimal digits from `least` to 2^63 - 1.
[[nodiscard]] std::int64_t parse_number(std::string_view text, std::int64_t least, const std::string& where,
                                        const std::string& what);

/// Reads a number above 0 such as "1.41".
[[nodiscard]] double parse_positive(std::string_view text, const std::string& where, const std::string& what);

/// "q=8192,x=8192": names are single, sizes whole numbers from 1.
[[nodiscard]] NamedSizes parse_shape(std::string_view text, const std::string& where = "--shape");

/// "512,4096,1,0,64*1x8192": the sequences of a packed batch in order; a number is of queries and keys, QxX of queries
/// and of keys, N* before either that many of them. At most 2^20 sequences.
[[nodiscard]] std::vector<SequenceLengths> parse_lengths(std::string_view text, const std::string& where = "--lengths");

/// Sizes that axes run through together: `from`, every multiple of `step` between, and `to`.
struct SizeRange {
  std::int64_t from = 1, to = 1, step = 64;
  [[nodiscard]] std::vector<std::int64_t> points() const;
  bool operator==(const SizeRange&) const = default;
};

/// A shape in which some axes have one range: "h=16,q=512..16384,x=512..16384,d=128", or with a step of its own
/// "q=512..16384:64"; else the step is the least power of two from 64 on that is taken at most 32 times. Axes with the
/// same range grow together; two different ones are an error.
struct ShapeFamily {
  NamedSizes fixed;
  std::vector<std::string> axes;  ///< that run through the range; empty: a single shape
  SizeRange range;
  /// The shape at that size.
  [[nodiscard]] NamedSizes at(std::int64_t size) const;
};
[[nodiscard]] ShapeFamily parse_family(std::string_view text, const std::string& where = "--shape");

/// "q=128,stages=2,pingpong=on,registers.q=64": names are single; values are checked by the knob they are for.
[[nodiscard]] TileText parse_tile(std::string_view text, const std::string& where = "--tile");

/// "P=0.66,O=1": names are single, values numbers from 0.
[[nodiscard]] std::vector<std::pair<std::string, double>> parse_fractions(std::string_view text,
                                                                          const std::string& where);

/// "L,R", whole numbers from 0: a window mask.
[[nodiscard]] Mask parse_window(std::string_view text, const std::string& where = "--window");

}  // namespace napkin
