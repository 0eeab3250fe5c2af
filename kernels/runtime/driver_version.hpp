#pragma once
// driver_version() is the version of the driver's own interface: 13000 for CUDA 13.0.

#include <string>

namespace napkin::internal {

/// Returns NVML's text, "580.65.06"; "" without NVML.
[[nodiscard]] std::string driver_version();

}  // namespace napkin::internal
