#pragma once
// These functions say what a mapping's tables know of a tile: triton_matmul.compiled has no row of 256 rows a block.

#include <string>
#include <vector>

#include "model/mapping/mapping.hpp"
#include "model/mapping/tile.hpp"

namespace napkin {

/// Whether a row of the table speaks of the tile: each knob that tells its rows apart has a value of its domain.
[[nodiscard]] bool has_row(const RegisterTable& table, const Mapping& mapping, const Tile& tile);

/// The settings of which no row of any table speaks that the mapping asks: "a=256". Empty: all numbers were counted.
[[nodiscard]] std::vector<std::string> settings_without_row(const Mapping& mapping, const Tile& tile);

}  // namespace napkin
