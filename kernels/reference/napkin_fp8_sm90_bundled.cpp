#include "kernels/reference/bytes_trial.hpp"
#include "kernels/reference/napkin_fp8_device.hpp"

namespace napkin {

BundledKernel napkin_fp8_sm90_bundled() { return bytes_bundled<NapkinDevice, napkin_fp8_sm90_plan>("napkin_fp8_sm90"); }

}  // namespace napkin
