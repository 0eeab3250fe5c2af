#pragma once
// A CounterReading holds the bytes that the GPU's own counters saw during a launch, such as 8.74 GB from the L2 to the
// SMs. It comes from CUPTI's range profiler, if that is installed and permitted.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels/runtime/device.hpp"

namespace napkin::internal {

/// The counters of the bytes that SMs load, as they arrive, and that device memory reads and writes, which are exact to
/// a fraction of a percent.
inline const std::vector<std::string> byte_counters{"l1tex__m_xbar2l1tex_read_bytes.sum", "dram__bytes_read.sum",
                                                    "dram__bytes_write.sum"};

struct CounterReading {
  std::map<std::string, double> values;  ///< values by counter; empty if counting was refused
  std::string refused;                   ///< reason of the refusal, and how to allow it; "" if there was none
};

/// Counts during `launch`, which may run several times, once a pass, and must give the same result each time. `before`
/// runs ahead of each pass, uncounted. `directories` may hold CUPTI beside the system's own places.
[[nodiscard]] CounterReading count(const Device& device, const std::function<void()>& before,
                                   const std::function<void()>& launch, const std::vector<std::string>& counters,
                                   const std::vector<std::string>& directories);

/// Explains an error code of CUPTI, given CUPTI's own message. Pure.
[[nodiscard]] std::string refusal(const std::string& call, int result, const std::string& words);

}  // namespace napkin::internal
