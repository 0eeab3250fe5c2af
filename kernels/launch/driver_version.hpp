#pragma once

#include <string>

namespace napkin {

/// "580.65.06" as NVML says; "" where there is none.
[[nodiscard]] std::string driver_version();

}  // namespace napkin
