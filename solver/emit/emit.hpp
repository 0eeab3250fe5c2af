#pragma once
// The selected configuration in the forms that other programs read.

#include <string>

#include "model/mapping/mapping.hpp"
#include "model/mapping/placed.hpp"
#include "model/mapping/tile.hpp"
#include "model/resource/resources.hpp"

namespace napkin {

/// {"kernel": ..., "tile": {...}}, one line of JSON.
[[nodiscard]] std::string emit_json(const Mapping& mapping, const Tile& tile);
/// A self-contained C++ header: a constexpr struct with every knob, shared-memory offsets and register counts, and
/// static_asserts on the machine's limits.
[[nodiscard]] std::string emit_cpp(const PlacedDiagram& placed, const Plan& plan);
/// triton.Config({...}, num_warps=, num_stages=) as a Python list.
[[nodiscard]] std::string emit_triton(const Mapping& mapping, const std::vector<Tile>& tiles);
/// FlashAttention-3's tuple {kBlockM, kBlockN, MmaPV_is_RS, IntraWGOverlap}.
[[nodiscard]] std::string emit_fa3(const Mapping& mapping, const Tile& tile);

}  // namespace napkin
