#pragma once
// These functions write the selected configuration in the forms that other programs read: emit_triton gives
// triton.Config({"BLOCK_M": 128, ...}).

#include <string>

#include "model/mapping/mapping.hpp"
#include "model/mapping/placed.hpp"
#include "model/mapping/tile.hpp"
#include "model/resource/resources.hpp"

namespace napkin::internal {

/// Emits one line of JSON: {"kernel": ..., "tile": {...}}.
[[nodiscard]] std::string emit_json(const Mapping& mapping, const Tile& tile);
/// Emits a self-contained C++ header: a constexpr struct with every knob, shared-memory offset and register count, and
/// static_asserts on the machine's limits. An inline namespace named after question and tile lets headers of one kernel
/// coexist.
[[nodiscard]] std::string emit_cpp(const PlacedDiagram& placed, const Plan& plan);
/// Emits a Python list of triton.Config({...}, num_warps=, num_stages=), after the comment `about`, if it is not empty.
[[nodiscard]] std::string emit_triton(const Mapping& mapping, const std::vector<Tile>& tiles,
                                      const std::string& about = "");
/// Returns the knob that Triton calls `name` (BLOCK_M, num_warps), or the knob of that name itself; "" if there is
/// none.
[[nodiscard]] std::string knob_of_triton(const Mapping& mapping, const std::string& name);
/// Emits FlashAttention-3's tuple {kBlockM, kBlockN, MmaPV_is_RS, IntraWGOverlap}.
[[nodiscard]] std::string emit_fa3(const Mapping& mapping, const Tile& tile, const std::string& about = "");
/// Emits a Python list of FwdConfig(m_block_size=, n_block_size=, mma_pv_is_rs=, intra_wg_overlap=), FlashAttention-4's
/// names for the options of its Hopper kernel, which are FlashAttention-3's. Tiles with equal options are listed once.
[[nodiscard]] std::string emit_fa4(const Mapping& mapping, const std::vector<Tile>& tiles,
                                   const std::string& about = "");

/// Describes the question of a tile: "attention on h200-sxm, bf16, causal: h=16 q=8192 x=8192 d=128; kernel
/// attention_sm90".
[[nodiscard]] std::string about_question(const Diagram& diagram, const Mapping& mapping, const Machine& machine,
                                         const Problem& problem);

}  // namespace napkin::internal
