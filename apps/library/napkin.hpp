#pragma once
// Napkin for a program: the questions of the command line as functions on plain values.
//
//   #include <napkin/napkin.hpp>
//
//   napkin::Ask ask;
//   ask.algorithm = "attention";
//   ask.gpu = "h200-sxm";
//   ask.shape = {{"h", 16}, {"q", 8192}, {"x", 8192}, {"d", 128}};
//   const napkin::SelectAnswer answer = napkin::select(ask);
//   for (const auto& knob : answer.head.tile) ...
//
// To compute attention or a product on the GPU here: call.hpp. Bad input throws napkin::Error: where, what, and what
// would be right. What CUDA lacks or refuses here (no GPU, no NVRTC) throws napkin::CudaFailure.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "apps/library/answer.hpp"
#include "apps/library/arguments.hpp"
#include "apps/library/call.hpp"
#include "model/base/error.hpp"

namespace napkin {

/// One question. Names are those of the command line (design section 5).
struct Ask {
  std::string algorithm;               ///< a built-in name, or a path to a diagram
  std::string gpu;                     ///< a profile's name or path, or "here"; empty where `memory` is set
  std::optional<std::int64_t> memory;  ///< the abstract two-level machine with so many values
  NamedSizes shape;                    ///< axis sizes; defaults are filled in
  /// Sequences of different lengths, packed behind one another; empty: as the shape says. The shape then leaves out b,
  /// q and x, or says how many they are and the longest lengths.
  std::vector<SequenceLengths> lengths;
  std::string dtype;  ///< empty: bf16
  Mask mask;
  std::string kernel;  ///< a mapping's name or path; empty: the best that runs there
  TileText tile;       ///< knobs that are fixed; the rest is chosen
  bool check = false;  ///< query: also run the streamed program at a scaled-down shape and count
  std::function<void(std::int64_t done, std::int64_t total)> progress;  ///< of that run: groups done, of so many
  bool compile = false;  ///< query: also compile the kernel with that tile; needs NVRTC and no GPU
};

/// What the tile moves and holds at each level, how long it takes, and what limits it. Any valid input is answered,
/// legal or not.
[[nodiscard]] QueryAnswer query(const Ask& ask);

/// The legal tile of least predicted time, with `top` - 1 runners-up.
[[nodiscard]] SelectAnswer select(const Ask& ask, int top = 5);

/// The breakpoints along a family of shapes, where the selected kernel or tile changes: select() at every size of its
/// range. `ask.shape` is not read.
[[nodiscard]] FamilyAnswer select_family(const Ask& ask, const ShapeFamily& family);

/// The selected configuration as another program reads it.
struct Emission {
  std::string text;
  bool found = false;   ///< false: nothing fits, and there is no text
  std::string because;  ///< then: why
};

/// `form`: "json" (kernel and tile), "cpp" (a constexpr struct), "triton" (its list of configurations, the `top` best)
/// or "fa3" (FlashAttention-3's tuple). The last two select for that peer's mapping unless `ask` names one.
[[nodiscard]] Emission emit(const Ask& ask, const std::string& form, int top = 5);

}  // namespace napkin
