#pragma once
// DeviceArrays are arrays of the host, copied to the device one by one: put(K) gives the address where K lies there.

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "kernels/runtime/device.hpp"

namespace napkin {

class DeviceArrays {
 public:
  explicit DeviceArrays(const Device& device) : device_(device) {}

  /// Its address; 0 for an empty array. Throws CudaFailure.
  template <class T>
  [[nodiscard]] std::uint64_t put(const std::vector<T>& values) {
    if (values.empty()) return 0;
    memory_.push_back(device_.allocate(values.size() * sizeof(T)));
    device_.upload(memory_.back().address(), values.data(), values.size() * sizeof(T));
    return memory_.back().address();
  }
  /// As many values as `to` has, when all launches before have ended.
  template <class T>
  void fetch(std::vector<T>& to, std::uint64_t from) const {
    device_.synchronize();
    device_.download(to.data(), from, to.size() * sizeof(T));
  }
  /// Every element of the arrays at these addresses becomes a NaN that no kernel writes.
  void poison(std::initializer_list<std::uint64_t> arrays) const {
    for (const DeviceMemory& memory : memory_) {
      for (const std::uint64_t address : arrays) {
        if (memory.address() == address) device_.set(memory, 0xFF);
      }
    }
  }

 private:
  Device device_;
  std::vector<DeviceMemory> memory_;
};

}  // namespace napkin
