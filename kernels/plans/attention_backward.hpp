#pragma once
// One call of attention's backward pass on the device is three launches in sequence: rows (delta, the log-sum-exp, and
// zeros for the first sums of dQ), gradients, and the rounding of dQ that the gradients' launch has not done. Example:
// plans.delta, plans.gradients, plans.convert go into one stream in that order.

#include <array>
#include <span>

#include "kernels/plans/attention.hpp"

namespace napkin::internal {

struct AttentionBackwardCall {
  TensorView q, k, v, o, d_o;                ///< arrays of the forward pass, and the gradient of its output
  TensorView dq, dk, dv;                     ///< results
  std::uint64_t log_sum_exp = 0;             ///< the forward pass's: f32 [b, h * g, q], or [h * g, q rows] when packed
  std::optional<double> scale;               ///< scale of the softmax; default d^-1/2
  std::uint64_t q_starts = 0, x_starts = 0;  ///< packed sequences, as AttentionCall has them
  std::int64_t q_rows = 0, x_rows = 0;
  std::optional<int> at_once;  ///< blocks of the gradients that run at once; default one for each SM
  std::uint64_t scratch = 0;   ///< scratch_bytes() of any content
  /// Address of u64 [SMs, 2] for first starts and last ends, initialised to all ones and 0; 0: not wanted.
  std::uint64_t cycles = 0;

  [[nodiscard]] bool packed() const { return q_starts != 0; }
};

/// The plans of a backward call, in the order of their launches.
struct AttentionBackwardPlans {
  LaunchPlan delta, gradients, convert;
  [[nodiscard]] std::array<const LaunchPlan*, 3> all() const { return {&delta, &gradients, &convert}; }
};

/// Returns the device memory that a call needs beside its arrays: the workspace of each plan. Throws Overflow.
[[nodiscard]] Bytes scratch_bytes(const PlacedDiagram& placed, const AttentionBackwardCall& call);

/// Plans the kernels of attention_backward_sm90 or attention_backward_wide_sm90. Throws Error for a tile or an array
/// that they do not take, Overflow for sizes beyond their integers.
[[nodiscard]] AttentionBackwardPlans attention_backward_plans(const PlacedDiagram& placed,
                                                              const AttentionBackwardCall& call);

/// Binds the plans to the memory of another call with equal sizes, strides and scale. Throws Error for addresses that
/// are not multiples of 16 bytes. (Not named `bind`, which would find std::bind for a standard container.)
void bind_backward(std::span<LaunchPlan> plans, const AttentionBackwardCall& call);

}  // namespace napkin::internal
