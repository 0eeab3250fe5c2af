#pragma once
// driver_version() is the version of the driver's own interface: 13000 for CUDA 13.0.

#include <string>

namespace napkin {

/// "580.65.06" as NVML says; "" where there is none.
[[nodiscard]] std::string driver_version();

}  // namespace napkin
