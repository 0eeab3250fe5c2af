#pragma once
// A Tile holds values of a mapping's knobs: q=128, x=176, stages=2.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/mapping/mapping.hpp"

namespace napkin::internal {

/// The values of the mapping's knobs, by KnobId.
struct Tile {
  std::vector<std::int64_t> values;
  bool operator==(const Tile&) const = default;
};

/// Returns the tile's (name, value) pairs for printing: words where the knob has words.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> describe(const Mapping& mapping, const Tile& tile);

/// Returns the value of a knob by name. Throws Error for an unknown one.
[[nodiscard]] std::int64_t value_of(const Mapping& mapping, const Tile& tile, std::string_view knob);

/// Parses a user's word or number for a knob. Throws Error at `where` with the domain.
[[nodiscard]] std::int64_t parse_knob(const Knob& knob, const std::string& text, const std::string& where);

/// Throws Error at `where` if the mapping does not describe the kernel with that value of the knob: guards of
/// variables, work or edges name the knob, and no value of its domain gives the same answers. `{when: {stages: [2, 3]},
/// from: ...}` does not describe the wait at stages=5.
void check_described(const Mapping& mapping, KnobId knob, std::int64_t value, const std::string& where);

}  // namespace napkin::internal
