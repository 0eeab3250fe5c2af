#include "kernels/plans/attention_backward.hpp"
#include "kernels/reference/attention_trial.hpp"
#include "kernels/reference/bundled.hpp"

namespace napkin::internal {
namespace {

BundledKernel backward(const char* mapping) {
  const auto variant = [](const PlacedDiagram& placed, bool counting, const LaunchDevice&) {
    const AttentionCall forward = call_without_arrays(placed, counting);
    AttentionBackwardCall call;
    call.q = call.k = call.v = call.o = call.d_o = call.dq = call.dk = call.dv = forward.q;
    call.log_sum_exp = call.scratch = forward.q.address;
    call.q_starts = forward.q_starts;
    call.x_starts = forward.x_starts;
    call.q_rows = forward.q_rows;
    call.x_rows = forward.x_rows;
    call.cycles = forward.cycles;
    return attention_backward_plans(placed, call).gradients;
  };
  return {mapping, variant, nullptr, nullptr};
}

}  // namespace

BundledKernel attention_backward_sm90_bundled() { return backward("attention_backward_sm90"); }

BundledKernel attention_backward_wide_sm90_bundled() { return backward("attention_backward_wide_sm90"); }

}  // namespace napkin::internal
