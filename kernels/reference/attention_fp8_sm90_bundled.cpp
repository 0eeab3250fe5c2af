#include "kernels/reference/bytes_device.hpp"
#include "kernels/reference/bytes_trial.hpp"

namespace napkin::internal {

BundledKernel attention_fp8_sm90_bundled() {
  return bytes_bundled<Fp8Device, attention_fp8_sm90_plan, Fp8Scales::head>("attention_fp8_sm90");
}

}  // namespace napkin::internal
