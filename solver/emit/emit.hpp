#pragma once
// These functions write the selected configuration in the forms that other programs read: emit_triton gives
// triton.Config({"BLOCK_M": 128, ...}).

#include <string>

#include "model/mapping/mapping.hpp"
#include "model/mapping/placed.hpp"
#include "model/mapping/tile.hpp"
#include "model/resource/resources.hpp"

namespace napkin {

/// {"kernel": ..., "tile": {...}}, one line of JSON.
[[nodiscard]] std::string emit_json(const Mapping& mapping, const Tile& tile);
/// A self-contained C++ header: a constexpr struct with every knob, shared-memory offsets and register counts, and
/// static_asserts on the machine's limits. It stands in an inline namespace of the question's and tile's own name, so
/// that headers of one kernel can stand side by side.
[[nodiscard]] std::string emit_cpp(const PlacedDiagram& placed, const Plan& plan);
/// triton.Config({...}, num_warps=, num_stages=) as a Python list. `about`: a comment before it; empty: none.
[[nodiscard]] std::string emit_triton(const Mapping& mapping, const std::vector<Tile>& tiles,
                                      const std::string& about = "");
/// The knob that Triton calls so (BLOCK_M, num_warps), or a knob of that name itself; "" where there is none.
[[nodiscard]] std::string knob_of_triton(const Mapping& mapping, const std::string& name);
/// FlashAttention-3's tuple {kBlockM, kBlockN, MmaPV_is_RS, IntraWGOverlap}.
[[nodiscard]] std::string emit_fa3(const Mapping& mapping, const Tile& tile, const std::string& about = "");
/// FwdConfig(m_block_size=, n_block_size=, mma_pv_is_rs=, intra_wg_overlap=) as a Python list: what FlashAttention-4
/// calls the choices of its Hopper kernel, which are FlashAttention-3's. Tiles that agree in all of them stand
/// there once.
[[nodiscard]] std::string emit_fa4(const Mapping& mapping, const std::vector<Tile>& tiles,
                                   const std::string& about = "");

/// "attention on h200-sxm, bf16, causal: h=16 q=8192 x=8192 d=128; kernel attention_sm90": what a tile was selected
/// for.
[[nodiscard]] std::string about_question(const Diagram& diagram, const Mapping& mapping, const Machine& machine,
                                         const Problem& problem);

}  // namespace napkin
