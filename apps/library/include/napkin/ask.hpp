#pragma once
// Ask is one question as a user writes it, in names and numbers: attention on h200-sxm with h = 16, q = x = 8192 and
// d = 128. parse_shape turns "q=8192,x=8192" into sizes by name, and its neighbours turn tiles, lengths, ranges and
// masks into values. Every mistake is an Error at `where` that says what would be right; nothing is guessed.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "napkin/types.hpp"

namespace napkin {

using NamedSizes = std::vector<std::pair<std::string, std::int64_t>>;

/// "q=128,x=176,stages=2" as parsed pairs; words stay words.
using TileText = std::vector<std::pair<std::string, std::string>>;

/// A question, in the names of the command line.
struct Ask {
  std::string algorithm;               ///< a built-in name, or a path to a diagram
  std::string gpu;                     ///< a profile's name or path, or "here"; empty where `memory` is set
  std::optional<std::int64_t> memory;  ///< values that the abstract two-level machine's memory holds
  NamedSizes shape;                    ///< axis sizes; defaults are filled in
  /// The sequences of a packed batch; empty: `shape` gives equal ones. The shape then omits b, q and x, or gives the
  /// number of sequences and the longest lengths.
  std::vector<SequenceLengths> lengths;
  std::string dtype;  ///< element type; empty: bf16
  Mask mask;
  std::string kernel;  ///< a mapping's name or path; empty: the fastest kernel there, bundled or not
  TileText tile;       ///< fixed knobs; all others are selected
  /// The division of the algorithm over an island of GPUs: "ring_attention,order=zigzag,gpus=8"; empty: the fastest.
  std::string split = {};
  CardConditions conditions = {};  ///< the load and the clock under which the GPU runs it
  bool bundled = false;  ///< true for this project's kernels alone, which can be launched (if no kernel is named)
  bool check = false;    ///< true to let query run the streamed program at a scaled-down shape, and count
  /// A callback with groups done and their total during a check, or sizes done during a family of shapes.
  std::function<void(std::int64_t done, std::int64_t total)> progress;
  bool compile = false;  ///< true to let query compile the kernel with that tile; needs NVRTC and no GPU
};

/// Writes a user's text as messages show it: in quotes, at most 40 bytes, anything unprintable escaped.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// Parses "a, b,c" as its words. Empty ones are errors.
[[nodiscard]] std::vector<std::string> parse_words(std::string_view text, const std::string& where,
                                                   const std::string& right);

/// Parses a whole number of decimal digits from `least` to 2^63 - 1.
[[nodiscard]] std::int64_t parse_number(std::string_view text, std::int64_t least, const std::string& where,
                                        const std::string& what);

/// Reads a number above 0 such as "1.41".
[[nodiscard]] double parse_positive(std::string_view text, const std::string& where, const std::string& what);

/// Parses "q=8192,x=8192": each name once, sizes whole numbers from 1.
[[nodiscard]] NamedSizes parse_shape(std::string_view text, const std::string& where = "--shape");

/// Parses the sequences of a packed batch in order, "512,4096,1,0,64*1x8192": a number N is N queries and N keys, QxX
/// is Q queries and X keys, and N* before either repeats it N times. At most 2^20 sequences.
[[nodiscard]] std::vector<SequenceLengths> parse_lengths(std::string_view text, const std::string& where = "--lengths");

/// Sizes that axes run through together: `from`, every multiple of `step` between, and `to`.
struct SizeRange {
  std::int64_t from = 1, to = 1, step = 64;
  [[nodiscard]] std::vector<std::int64_t> points() const;
  bool operator==(const SizeRange&) const = default;
};

/// A shape in which some axes have one range: "h=16,q=512..16384,x=512..16384,d=128"; with a step of its own,
/// "q=512..16384:64". Without it the step is the least power of two from 64 on that is taken at most 32 times. Axes
/// with a range run through it together; two different ranges are an error.
struct ShapeFamily {
  NamedSizes fixed;
  std::vector<std::string> axes;  ///< axes that run through the range; empty: a single shape
  SizeRange range;
  /// Returns the shape at that size.
  [[nodiscard]] NamedSizes at(std::int64_t size) const;
};
[[nodiscard]] ShapeFamily parse_family(std::string_view text, const std::string& where = "--shape");

/// Parses "q=128,stages=2,pingpong=on,registers.q=64": each name once. Whether a knob allows its value is checked
/// later, against the mapping.
[[nodiscard]] TileText parse_tile(std::string_view text, const std::string& where = "--tile");

/// Parses "P=0.66,O=1": each name once, values numbers from 0.
[[nodiscard]] std::vector<std::pair<std::string, double>> parse_fractions(std::string_view text,
                                                                          const std::string& where);

/// Parses "L,R", whole numbers from -1 (no limit): a window mask.
[[nodiscard]] Mask parse_window(std::string_view text, const std::string& where = "--window");

/// Parses a whole number from 1: the number of first keys that every query sees, beside the keys that a causal mask
/// shows to it.
[[nodiscard]] Mask parse_prefix(std::string_view text, const std::string& where = "--prefix");

}  // namespace napkin
