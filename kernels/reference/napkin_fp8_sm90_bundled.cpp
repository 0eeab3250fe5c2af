#include "kernels/reference/bytes_device.hpp"
#include "kernels/reference/bytes_trial.hpp"

namespace napkin::internal {
namespace {

/// Plans the kernel for V of f16, the type in its problems.
LaunchPlan plan_of_halves(const PlacedDiagram& placed, AttentionCall call, const LaunchDevice& device) {
  call.halves = true;
  return napkin_fp8_sm90_plan(placed, call, device);
}

}  // namespace

BundledKernel napkin_fp8_sm90_bundled() { return bytes_bundled<NapkinDevice, plan_of_halves>("napkin_fp8_sm90"); }

}  // namespace napkin::internal
