#include "kernels/launch/attention_dump.hpp"

namespace napkin {
BundledKernel attention_sm90_bundled() {
  const auto variant = [](const PlacedDiagram& placed, bool counting, const LaunchDevice& device) {
    return attention_sm90_plan(placed, call_without_arrays(placed, counting), device);
  };
  const auto trial = [](Runtime& runtime, const PlacedDiagram& placed, const TrialOptions& options) {
    return attention_trial(runtime, placed, options, attention_sm90_plan);
  };
  return {"attention_sm90", variant, trial, dump_attention};
}

}  // namespace napkin
