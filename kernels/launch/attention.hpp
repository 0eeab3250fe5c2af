#pragma once
// One call of attention on the device: the arrays that every attention kernel takes.

#include <cstdint>
#include <optional>

#include "kernels/launch/launch_plan.hpp"
#include "model/mapping/placed.hpp"

namespace napkin {

/// Rows of heads in device memory; the innermost axis is dense. Strides in elements.
struct TensorView {
  std::uint64_t address = 0;
  std::int64_t batch = 0, head = 0, row = 0;  ///< o and q: of query heads
};

struct AttentionCall {
  TensorView q, k, v, o;
  std::uint64_t log_sum_exp = 0;  ///< f32 [b, h * g, q] ([h * g, q rows] when packed), or 0: not wanted
  std::optional<double> scale;    ///< of the softmax; default d^-1/2
  /// Packed sequences of different lengths, one behind the other: i32 [b + 1] first rows on the device, and all rows.
  /// The question's q and x are then the longest. Batch strides are not used.
  std::uint64_t q_starts = 0, x_starts = 0;
  std::int64_t q_rows = 0, x_rows = 0;
  std::uint64_t ticket =
      0;  ///< two i32, zero before the first launch (each leaves them so); needed where order = longest_first
  std::uint64_t cycles = 0;  ///< u64 [SMs, 2], all ones and 0: wanted first start and last end; 0: not wanted
  std::uint64_t dump = 0;    ///< f32 as kernels/attention/dump.cuh lays it out: the debug variant; 0: not wanted. Not
                             ///< with cycles, not packed

  [[nodiscard]] bool packed() const { return q_starts != 0; }
};

/// The kernel of the mapping attention_sm90 for this placement. Throws Error where the tile or an array is none that it
/// takes (violations() of solver/space says so of tiles beforehand), Overflow for sizes beyond its integers.
[[nodiscard]] LaunchPlan attention_sm90_plan(const PlacedDiagram& placed, const AttentionCall& call,
                                             const LaunchDevice& device);
/// The same of attention_sm80, for the architecture of the placement's machine.
[[nodiscard]] LaunchPlan attention_sm80_plan(const PlacedDiagram& placed, const AttentionCall& call,
                                             const LaunchDevice& device);

/// The one of the two whose mapping it is. Throws Error where it is neither's.
[[nodiscard]] LaunchPlan attention_plan(const PlacedDiagram& placed, const AttentionCall& call,
                                        const LaunchDevice& device);

/// Gives a plan of either the memory of another call that is the same in all else: sizes, strides, scale, and which of
/// the optional arrays it has. Throws Error for addresses that are no multiples of 16 bytes.
void bind(LaunchPlan& plan, const AttentionCall& call);

}  // namespace napkin
