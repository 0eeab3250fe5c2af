#pragma once
// A knob that does not divide its axis makes tiles with rows beyond the end: 3 query heads in tiles of 2 have a row for
// a fourth. undivided() finds such pairs; the lists of cases have some of every pair that a kernel's knobs can make.

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

#include "tests/support/layout.hpp"

namespace napkin::internal::test {

/// Numbers of query heads a key head that are no powers of two.
inline constexpr std::int64_t undivided_groups[] = {3, 5, 6, 7, 12};

/// Returns the knobs of a tile that are sizes on an axis of the shape and do not divide it: {"g", "shared.x"}.
inline std::set<std::string> undivided(const Shape& shape, const Knobs& tile) {
  std::set<std::string> out;
  for (const auto& [knob, value] : tile) {
    const std::string axis = knob.substr(knob.find('.') + 1);
    for (const auto& [name, size] : shape) {
      if (name == axis && size % std::max<std::int64_t>(std::atoll(value.c_str()), 1) != 0) out.insert(knob);
    }
  }
  return out;
}

/// Returns the tile's heads; 1 without a knob for them.
inline std::int64_t packed_heads(const Knobs& tile) {
  const auto found = std::find_if(tile.begin(), tile.end(), [](const auto& knob) { return knob.first == "g"; });
  return found == tile.end() ? 1 : std::atoll(found->second.c_str());
}

}  // namespace napkin::internal::test
