#include "kernels/reference/attention_trial.hpp"

namespace napkin {

BundledKernel attention_decode_sm90_bundled() {
  const auto variant = [](const PlacedDiagram& placed, bool counting, const LaunchDevice& device) {
    AttentionCall call = call_without_arrays(placed, counting);
    call.workspace = call.ticket;  // nothing is launched with it
    return attention_decode_sm90_plan(placed, call, device);
  };
  const auto trial = [](Runtime& runtime, const PlacedDiagram& placed, const TrialOptions& options) {
    return attention_trial(runtime, placed, options, attention_decode_sm90_plan);
  };
  return {"attention_decode_sm90", variant, trial, nullptr};
}

}  // namespace napkin
