#pragma once
// DeviceArrays copies arrays of the host to the device: put(K) returns the address of K there.

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "kernels/runtime/banded_memory.hpp"

namespace napkin::internal {

class DeviceArrays {
 public:
  explicit DeviceArrays(const Device& device) : device_(device) {}

  /// Copies an array to the device. Returns its address, 0 for an empty array. Throws CudaFailure.
  template <class T>
  [[nodiscard]] std::uint64_t put(const std::vector<T>& values) {
    if (values.empty()) return 0;
    memory_.emplace_back(device_, values.size() * sizeof(T));
    device_.upload(memory_.back().address(), values.data(), values.size() * sizeof(T));
    return memory_.back().address();
  }
  /// Copies values from address `from` until `to` is full, after all earlier launches have ended.
  template <class T>
  void fetch(std::vector<T>& to, std::uint64_t from) const {
    device_.synchronize();
    device_.download(to.data(), from, to.size() * sizeof(T));
  }
  /// Sets every element of the arrays at these addresses to a NaN that no kernel writes.
  void poison(std::initializer_list<std::uint64_t> arrays) const {
    for (const BandedMemory& memory : memory_) {
      for (const std::uint64_t address : arrays) {
        if (memory.address() == address) memory.set(device_, 0xFF);
      }
    }
  }
  /// Returns the first byte outside of an array that a kernel wrote, as "bytes of array 2[-1]", arrays counted from 0
  /// in the order of put(); empty if there is none.
  [[nodiscard]] std::string beside() const {
    device_.synchronize();
    for (std::size_t i = 0; i < memory_.size(); ++i) {
      const std::string found = memory_[i].changed(device_, "bytes of array " + std::to_string(i), 1);
      if (!found.empty()) return found;
    }
    return "";
  }

 private:
  Device device_;
  std::vector<BandedMemory> memory_;
};

}  // namespace napkin::internal
