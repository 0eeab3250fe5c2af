#pragma once
// A Mask is the rule for the columns that a row of scores sees: all, those up to its own (causal), a window around it,
// or a prefix and those up to its own (prefix).

#include <cstdint>
#include <string>

namespace napkin {

/// Row i of `rows` sees column j: causal j <= i + columns - rows (bottom-right aligned);
/// window i + columns - rows - left <= j <= i + columns - rows + right; prefix j < left or j <= i + columns - rows.
struct Mask {
  enum class Kind { none, causal, window, prefix };
  Kind kind = Kind::none;
  std::int64_t left = 0;  ///< columns that a window shows left of the row's own; of a prefix its length; -1: no limit
  std::int64_t right = 0;
  bool operator==(const Mask&) const = default;
};

/// Writes "none", "causal", "window 128,0", "prefix 512"
[[nodiscard]] std::string text_of(const Mask& mask);

/// Lengths of a sequence of a packed batch along the mask's rows and columns (queries and keys); 0: empty.
struct SequenceLengths {
  std::int64_t q = 0, x = 0;
  bool operator==(const SequenceLengths&) const = default;
};

}  // namespace napkin
