#pragma once
// A BandedMemory is device memory between two bands of a known pattern: a kernel that writes beside its array changes
// one of them, and changed() says where. Example: "O[-3]" is three elements ahead of the array's first.

#include <cstdint>
#include <initializer_list>
#include <string>

#include "kernels/runtime/device.hpp"

namespace napkin {

class BandedMemory {
 public:
  static constexpr std::size_t band = std::size_t{1} << 18;  ///< bytes, on each side

  BandedMemory() = default;
  /// Of 0 bytes: nothing. Throws CudaFailure.
  BandedMemory(const Device& device, std::size_t bytes);

  [[nodiscard]] std::uint64_t address() const { return bytes_ == 0 ? 0 : memory_.address() + band; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  /// Every byte of the array, and the pattern anew in the bands.
  void set(const Device& device, std::uint8_t value) const;
  /// The element beside the array that was written, the array called `name`; empty: none. When all launches have ended.
  [[nodiscard]] std::string changed(const Device& device, const std::string& name, std::size_t element_bytes) const;

 private:
  DeviceMemory memory_;
  std::size_t bytes_ = 0;
};

/// "O[4]": the first byte of the bytes that is not `untouched`, as an element counted from `first` bytes on; empty:
/// there is none.
[[nodiscard]] std::string first_changed(const std::string& name, const unsigned char* bytes, std::size_t count,
                                        unsigned char untouched, std::ptrdiff_t first, std::size_t element_bytes);

/// The first text that is not empty.
[[nodiscard]] std::string first_of(std::initializer_list<std::string> texts);

}  // namespace napkin
