#pragma once
// A BandedMemory is device memory between two bands of a known pattern: a kernel that writes beside its array changes
// one of them, and changed() returns its place. Example: "O[-3]" is three elements ahead of the array's first.

#include <cstdint>
#include <initializer_list>
#include <string>

#include "kernels/runtime/device.hpp"

namespace napkin::internal {

class BandedMemory {
 public:
  static constexpr std::size_t band = std::size_t{1} << 18;  ///< bytes, on each side

  BandedMemory() = default;
  /// Allocates the array with bands around it; none for 0 bytes. Throws CudaFailure.
  BandedMemory(const Device& device, std::size_t bytes);

  [[nodiscard]] std::uint64_t address() const { return bytes_ == 0 ? 0 : memory_.address() + band; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  /// Sets every byte of the array, and renews the pattern in the bands.
  void set(const Device& device, std::uint8_t value) const;
  /// Waits for all launches, then returns the first element outside of the array that was written, as "O[-1]" of the
  /// array `name`; empty if there is none.
  [[nodiscard]] std::string changed(const Device& device, const std::string& name, std::size_t element_bytes) const;

 private:
  DeviceMemory memory_;
  std::size_t bytes_ = 0;
};

/// Returns the first byte that is not `untouched`, as an element counted from `first` bytes on: "O[4]"; empty if there
/// is none.
[[nodiscard]] std::string first_changed(const std::string& name, const unsigned char* bytes, std::size_t count,
                                        unsigned char untouched, std::ptrdiff_t first, std::size_t element_bytes);

/// Returns the first text that is not empty.
[[nodiscard]] std::string first_of(std::initializer_list<std::string> texts);

}  // namespace napkin::internal
