#include "kernels/runtime/nvml.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "kernels/jit/dynamic_library.hpp"
#include "kernels/jit/failure.hpp"

namespace napkin::internal {

/// The part of nvml.h that is used here, as documented; results are 0 for success.
struct Nvml::Api {
  struct FieldValue {
    unsigned field, scope;
    long long timestamp, latency;
    int type, result;
    union {
      unsigned as_unsigned;
      double as_double;
    } value;
  };
  static_assert(sizeof(FieldValue) == 40);

  int (*init)() = nullptr;
  int (*by_bus_id)(const char*, void**) = nullptr;
  int (*clock)(void*, int, unsigned*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;
  int (*temperature)(void*, int, unsigned*) = nullptr;
  int (*throttle)(void*, unsigned long long*) = nullptr;
  int (*fields)(void*, int, FieldValue*) = nullptr;
};

std::optional<Nvml> Nvml::open(const std::string& bus_id) {
  const auto library = DynamicLibrary::open({"libnvidia-ml.so.1"});
  if (!library) return std::nullopt;
  auto api = std::make_shared<Api>();
  try {
    library->bind(api->init, "nvmlInit_v2");
    library->bind(api->by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
    library->bind(api->clock, "nvmlDeviceGetClockInfo");
    library->bind(api->power, "nvmlDeviceGetPowerUsage");
    library->bind(api->temperature, "nvmlDeviceGetTemperature");
  } catch (const CudaFailure&) {
    return std::nullopt;
  }
  library->bind_optional(api->throttle, "nvmlDeviceGetCurrentClocksThrottleReasons");
  library->bind_optional(api->fields, "nvmlDeviceGetFieldValues");
  Nvml out;
  if (api->init() != 0 || api->by_bus_id(bus_id.c_str(), &out.device_) != 0) return std::nullopt;
  out.api_ = std::move(api);
  return out;
}

GpuState Nvml::state() const {
  constexpr int sm_clock = 1, gpu_sensor = 0;
  constexpr unsigned power_instant = 186;  // NVML_FI_DEV_POWER_INSTANT
  GpuState out;
  unsigned value = 0;
  if (api_->clock(device_, sm_clock, &value) == 0) out.sm_clock = Hertz(value * 1e6);
  if (api_->temperature(device_, gpu_sensor, &value) == 0) out.temperature = value;
  Api::FieldValue field{power_instant, 0, 0, 0, 0, 0, {0}};
  if (api_->fields != nullptr && api_->fields(device_, 1, &field) == 0 && field.result == 0 &&
      field.value.as_unsigned > 0) {
    out.power = Watts(field.value.as_unsigned / 1e3);
  } else if (api_->power(device_, &value) == 0) {
    out.power = Watts(value / 1e3);
  }
  unsigned long long reasons = 0;
  if (api_->throttle != nullptr && api_->throttle(device_, &reasons) == 0) out.throttle = reasons;
  return out;
}

std::string throttle_text(std::uint64_t reasons) {
  constexpr std::array<std::pair<std::uint64_t, const char*>, 6> known{{{0x2, "clocks set by application"},
                                                                        {0x4, "power limit"},
                                                                        {0x8, "hardware slowdown"},
                                                                        {0x20, "thermal"},
                                                                        {0x40, "hardware thermal"},
                                                                        {0x80, "power brake"}}};
  std::string text;
  for (const auto& [bit, name] : known) {
    if ((reasons & bit) != 0) text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text;
}

StateSampler::StateSampler(const std::optional<Nvml>& nvml, Seconds interval) {
  if (!nvml) return;
  thread_ = std::thread([this, nvml = *nvml, interval] {
    do {
      samples_.push_back(nvml.state());
      std::this_thread::sleep_for(std::chrono::duration<double>(interval.value));
    } while (!stop_);
  });
}

StateSampler::~StateSampler() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

GpuState StateSampler::finish() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  const auto middle = [&](auto value) -> std::optional<double> {
    std::vector<double> all;
    for (const GpuState& sample : samples_) {
      if (const auto one = value(sample)) all.push_back(*one);
    }
    if (all.empty()) return std::nullopt;
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    return all[all.size() / 2];
  };
  using Maybe = std::optional<double>;
  GpuState out;
  if (const auto clock = middle([](const GpuState& s) { return s.sm_clock ? Maybe(s.sm_clock->value) : Maybe(); }))
    out.sm_clock = Hertz(*clock);
  if (const auto power = middle([](const GpuState& s) { return s.power ? Maybe(s.power->value) : Maybe(); }))
    out.power = Watts(*power);
  out.temperature = middle([](const GpuState& s) { return s.temperature; });
  for (const GpuState& sample : samples_) out.throttle |= sample.throttle;
  return out;
}

}  // namespace napkin::internal
