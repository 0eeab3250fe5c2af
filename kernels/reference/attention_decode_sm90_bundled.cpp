#include "kernels/reference/attention_trial.hpp"

namespace napkin::internal {

BundledKernel attention_decode_sm90_bundled() {
  const auto variant = [](const PlacedDiagram& placed, bool counting, const LaunchDevice& device) {
    return attention_decode_sm90_plan(placed, call_without_arrays(placed, counting), device);
  };
  const auto trial = [](Runtime& runtime, const PlacedDiagram& placed, const TrialOptions& options) {
    return attention_trial(runtime, placed, options, attention_decode_sm90_plan);
  };
  return {"attention_decode_sm90", variant, trial, nullptr};
}

}  // namespace napkin::internal
