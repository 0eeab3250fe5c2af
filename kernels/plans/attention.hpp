#pragma once
// An AttentionCall is one call of attention on the device: the arrays that every attention kernel takes, such as Q at
// its address with its four strides.

#include <cstdint>
#include <optional>

#include "kernels/runtime/launch_plan.hpp"
#include "model/mapping/placed.hpp"

namespace napkin::internal {

/// Rows of heads in device memory; the innermost axis is dense. Strides in elements.
struct TensorView {
  std::uint64_t address = 0;
  std::int64_t batch = 0, head = 0, row = 0;  ///< strides in elements; `head` of o and q is that of query heads
};

/// Keys and values in pages of `size` keys at any addresses: [pages, heads, size, columns] by the strides of k and v,
/// whose `batch` is then the stride between pages. attention_decode_sm90 alone.
struct KeyPages {
  std::uint64_t table = 0;  ///< i32 [b, row] on the device: page numbers of each sequence; 0: no pages
  std::int64_t row = 0;     ///< pages that a sequence has in the table
  std::int64_t size = 0;    ///< keys of a page: 8 or more, a divisor or a multiple of the tile's x
  std::int64_t count = 0;   ///< number of pages
  bool operator==(const KeyPages&) const = default;
};

/// The scales of e4m3 numbers, f32 on the device: attention_fp8_sm90 alone. Strides in scales; 0 shares a scale along
/// that axis. `block` is the stride between groups of 128 rows (scales: block).
struct ScaleView {
  std::uint64_t address = 0;  ///< 0: all are 1
  std::int64_t batch = 0, head = 0, block = 0;
};

struct AttentionCall {
  TensorView q, k, v, o;
  std::uint64_t log_sum_exp = 0;  ///< f32 [b, h * g, q] ([h * g, q rows] when packed), or 0: not wanted
  std::optional<double> scale;    ///< scale of the softmax; default d^-1/2
  /// Packed sequences: i32 [b + 1] first rows on the device, and the number of all rows. The question's q and x are
  /// then the longest. Batch strides are not used.
  std::uint64_t q_starts = 0, x_starts = 0;
  std::int64_t q_rows = 0, x_rows = 0;
  std::uint64_t ticket =
      0;  ///< two i32, zero before the first launch (each launch resets them); needed for order = longest_first
  KeyPages pages;
  std::uint64_t lengths = 0;  ///< i32 [b] keys of each sequence, at most x: attention_decode_sm90; 0: all have x
  std::uint64_t arrived = 0,
                parts = 0;  ///< addresses of attention_scratch()'s memory, for one launch at a time; 0: none
  ScaleView q_scale, k_scale, v_scale;  ///< scales by query head, and by key head
  bool halves = false;  ///< true if V and O are f16, Q and K e4m3: napkin_fp8_sm90, which takes no other types
  /// Address of u64 [SMs, 2] for first starts and last ends, initialised to all ones and 0; 0: not wanted.
  std::uint64_t cycles = 0;
  std::uint64_t dump = 0;  ///< f32 as kernels/attention/common/dump.cuh lays it out: the debug variant; 0: not wanted.
                           ///< Not with cycles, not packed

  [[nodiscard]] bool packed() const { return q_starts != 0; }
};

/// Plans the kernel of the mapping attention_sm90. Throws Error for a tile or an array that it does not take (for
/// tiles, violations() of solver/space tells beforehand), Overflow for sizes beyond its integers.
[[nodiscard]] LaunchPlan attention_sm90_plan(const PlacedDiagram& placed, const AttentionCall& call,
                                             const LaunchDevice& device);
/// Plans attention_sm80, for the architecture of the placement's machine.
[[nodiscard]] LaunchPlan attention_sm80_plan(const PlacedDiagram& placed, const AttentionCall& call,
                                             const LaunchDevice& device);

/// Plans attention_decode_sm90, the kernel of few queries and split keys.
[[nodiscard]] LaunchPlan attention_decode_sm90_plan(const PlacedDiagram& placed, const AttentionCall& call,
                                                    const LaunchDevice& device);
/// Returns the scratch memory of a placement whose blocks leave parts of results: counters of tiles, and the parts.
/// Throws Overflow.
[[nodiscard]] LaunchScratch attention_scratch(const PlacedDiagram& placed);
/// Returns true if the mapping's kernel takes packed sequences (AttentionCall::q_starts).
[[nodiscard]] bool takes_packed(const Mapping& mapping);
/// Returns true if the mapping's kernel takes keys in pages, and sequences whose keys are counted on the device.
[[nodiscard]] bool takes_pages(const Mapping& mapping);

/// Plans attention_fp8_sm90, e4m3 in and bf16 out; the strides of q, k and v are multiples of 16 elements.
[[nodiscard]] LaunchPlan attention_fp8_sm90_plan(const PlacedDiagram& placed, const AttentionCall& call,
                                                 const LaunchDevice& device);

/// Plans napkin_fp8_sm90: Q and K of e4m3, whose strides are multiples of 16 elements, V and O of f16.
[[nodiscard]] LaunchPlan napkin_fp8_sm90_plan(const PlacedDiagram& placed, const AttentionCall& call,
                                              const LaunchDevice& device);

/// Plans the kernel of the placement's mapping. Throws Error if it is none of the kernels above.
[[nodiscard]] LaunchPlan attention_plan(const PlacedDiagram& placed, const AttentionCall& call,
                                        const LaunchDevice& device);

/// Binds any of these plans to the memory of another call with equal sizes, strides, scale, and optional arrays. Throws
/// Error for addresses that are not multiples of 16 bytes.
void bind(LaunchPlan& plan, const AttentionCall& call);

}  // namespace napkin::internal
