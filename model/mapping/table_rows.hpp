#pragma once
// These functions look a tile up in a mapping's tables: triton_matmul.compiled has no row of 256 rows a block.

#include <string>
#include <vector>

#include "model/mapping/mapping.hpp"
#include "model/mapping/tile.hpp"

namespace napkin::internal {

/// Returns true if a row of the table describes the tile: each knob that tells its rows apart has a value of its
/// domain.
[[nodiscard]] bool has_row(const RegisterTable& table, const Mapping& mapping, const Tile& tile);

/// Lists the tile's settings that no row of the mapping's tables has: "a=256". Empty: all numbers were counted.
[[nodiscard]] std::vector<std::string> settings_without_row(const Mapping& mapping, const Tile& tile);

}  // namespace napkin::internal
