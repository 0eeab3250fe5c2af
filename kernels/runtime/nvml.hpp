#pragma once
// Nvml reads clock, power and temperature of a GPU while something runs on it: 1,755 MHz and 690 W. It needs NVML,
// which is part of the driver.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "model/base/quantity.hpp"

namespace napkin::internal {

struct GpuState {
  std::optional<Hertz> sm_clock;
  std::optional<Watts> power;         ///< power at that moment if the driver says, else its average over about a second
  std::optional<double> temperature;  ///< degrees Celsius
  std::uint64_t throttle = 0;         ///< bits of nvmlClocksThrottleReasons
};

/// Returns the reasons that slow a running GPU down: "power limit, thermal"; "" for none.
[[nodiscard]] std::string throttle_text(std::uint64_t reasons);

class Nvml {
 public:
  /// Opens NVML for a device; nothing without NVML, or if it does not know the device.
  [[nodiscard]] static std::optional<Nvml> open(const std::string& bus_id);
  [[nodiscard]] GpuState state() const;

 private:
  struct Api;
  std::shared_ptr<const Api> api_;
  void* device_ = nullptr;
};

/// Samples in a thread of its own from construction to finish().
class StateSampler {
 public:
  StateSampler(const std::optional<Nvml>& nvml, Seconds interval);
  ~StateSampler();
  StateSampler(const StateSampler&) = delete;
  StateSampler& operator=(const StateSampler&) = delete;

  /// Returns the medians of the samples, and the reasons that held in any sample.
  [[nodiscard]] GpuState finish();

 private:
  std::vector<GpuState> samples_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace napkin::internal
