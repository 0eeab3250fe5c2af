#include "kernels/runtime/card.hpp"

#include <fmt/format.h>

#include <array>

#include "kernels/jit/dynamic_library.hpp"

namespace napkin::internal {

std::string card_of(int ordinal) {
  const auto driver = DynamicLibrary::open({"libcuda.so.1", "libcuda.so"});
  if (!driver) return "";
  int (*device_get)(int*, int) = nullptr;
  int (*device_uuid)(std::array<unsigned char, 16>*, int) = nullptr;
  driver->bind_optional(device_get, "cuDeviceGet");
  driver->bind_optional(device_uuid, "cuDeviceGetUuid_v2");
  int device = 0;
  std::array<unsigned char, 16> bytes{};
  if (device_get == nullptr || device_uuid == nullptr || device_get(&device, ordinal) != 0 ||
      device_uuid(&bytes, device) != 0)
    return "";
  std::string out = "GPU-";
  for (const unsigned char byte : bytes) out += fmt::format("{:02x}", byte);
  return out;
}

struct EnergyCounter::Api {
  int (*init)() = nullptr;
  int (*by_bus_id)(const char*, void**) = nullptr;
  int (*energy)(void*, unsigned long long*) = nullptr;
};

std::optional<EnergyCounter> EnergyCounter::open(const std::string& bus_id) {
  const auto library = DynamicLibrary::open({"libnvidia-ml.so.1"});
  if (!library) return std::nullopt;
  auto api = std::make_shared<Api>();
  library->bind_optional(api->init, "nvmlInit_v2");
  library->bind_optional(api->by_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
  library->bind_optional(api->energy, "nvmlDeviceGetTotalEnergyConsumption");
  if (api->init == nullptr || api->by_bus_id == nullptr || api->energy == nullptr) return std::nullopt;
  EnergyCounter out;
  unsigned long long millijoules = 0;
  if (api->init() != 0 || api->by_bus_id(bus_id.c_str(), &out.device_) != 0 ||
      api->energy(out.device_, &millijoules) != 0)
    return std::nullopt;
  out.api_ = std::move(api);
  return out;
}

double EnergyCounter::joules() const {
  unsigned long long millijoules = 0;
  return api_->energy(device_, &millijoules) == 0 ? static_cast<double>(millijoules) / 1e3 : 0;
}

}  // namespace napkin::internal
