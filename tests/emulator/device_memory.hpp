#pragma once
// A DeviceArray is a piece of device memory: the host's, in arrays that are known by name. Around each lies memory that
// nobody may touch: a kernel's plain pointer that goes astray stops there, and the emulator says where the thread was.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

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
  /// The byte that was written in the rest of the pages that the array begins and ends in; empty: none.
  [[nodiscard]] std::string beside() const;
  /// "O, at its byte 1040 of 1024".
  [[nodiscard]] std::string place_of(const void* address) const;
  /// Whether an address is the array's or lies in the memory around it.
  [[nodiscard]] bool near(const void* address) const;

 private:
  std::string name_;
  std::size_t bytes_, pages_;
  unsigned char *mapped_, *first_;
};

/// Arrays of which each element is one block's to write. What a block wrote is taken out behind it, so that a second
/// one's write is seen whichever comes first, and whether the two agree or not.
class WrittenOnce {
 public:
  /// All of the array's bytes are 0xFF, which no element ever is.
  void watch(const DeviceArray& array, std::size_t element_bytes);
  /// "log-sum-exp[12], which block 3 has written": an element that this block wrote and another one before; empty:
  /// none.
  [[nodiscard]] std::string take(std::uint32_t block);
  /// What all blocks wrote, back in the arrays.
  void give_back() const;

 private:
  struct Watched {
    const DeviceArray* array;
    std::size_t element_bytes;
    std::vector<unsigned char> taken;
    std::vector<std::uint32_t> writer;  ///< of each element, counted from 1; 0: nobody yet
  };
  std::vector<Watched> all_;
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
