#pragma once
// A DeviceArray is a piece of device memory: the host's, in arrays that are known by name. Around each lies memory that
// nobody may touch: a kernel's plain pointer that goes astray stops there, and the emulator says where the thread was.

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/emulator/instructions.hpp"

namespace emulator {

class DeviceArray {
 public:
  /// All bytes are 0xFF: a NaN that no kernel writes.
  DeviceArray(std::string name, std::size_t bytes);
  ~DeviceArray();
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  [[nodiscard]] unsigned char* data() const { return first_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(first_); }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Whether nothing was written to the rest of the pages that the array begins and ends in.
  [[nodiscard]] bool guarded() const;
  /// Whether an address is the array's or lies in the memory around it.
  [[nodiscard]] bool near(const void* address) const;

 private:
  std::string name_;
  std::size_t bytes_, pages_;
  unsigned char *mapped_, *first_;
};

/// While one lives, an access to the memory around an array is the thread's error.
class WatchMemory {
 public:
  WatchMemory();
  ~WatchMemory();
  WatchMemory(const WatchMemory&) = delete;
  WatchMemory& operator=(const WatchMemory&) = delete;
};

}  // namespace emulator
