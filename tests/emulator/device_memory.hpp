#pragma once
// A DeviceArray is an array of the emulated device memory with a name. Pages before and after it are protected: an
// access there by a kernel's plain pointer is an error that names the thread's last instruction.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/emulator/instructions.hpp"

namespace emulator {

class DeviceArray {
 public:
  /// Allocates the array; all its bytes are 0xFF, a NaN that no kernel writes.
  DeviceArray(std::string name, std::size_t bytes);
  ~DeviceArray();
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  [[nodiscard]] unsigned char* data() const { return first_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(first_); }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Returns the first byte outside of the array that was written, in the array's first and last page; empty if there
  /// is none.
  [[nodiscard]] std::string beside() const;
  /// "O, at its byte 1040 of 1024".
  [[nodiscard]] std::string place_of(const void* address) const;
  /// Returns true if an address is in the array or in the protected memory around it.
  [[nodiscard]] bool near(const void* address) const;

 private:
  std::string name_;
  std::size_t bytes_, pages_;
  unsigned char *mapped_, *first_;
};

/// Arrays of which only one block may write each element. After each block its elements are taken out, so that a second
/// block's write is found in any order, and also if both write the same value.
class WrittenOnce {
 public:
  /// Adds an array, all of whose bytes are 0xFF, the value of no element.
  void watch(const DeviceArray& array, std::size_t element_bytes);
  /// Takes out the elements that this block wrote. Returns one that an earlier block wrote too, "log-sum-exp[12], which
  /// block 3 has written"; empty if there is none.
  [[nodiscard]] std::string take(std::uint32_t block);
  /// Puts all elements back into the arrays.
  void give_back() const;

 private:
  struct Watched {
    const DeviceArray* array;
    std::size_t element_bytes;
    std::vector<unsigned char> taken;
    std::vector<std::uint32_t> writer;  ///< block that wrote each element, counted from 1; 0: none yet
  };
  std::vector<Watched> all_;
};

/// A guard during whose life an access to protected memory is the error of the running thread.
class WatchMemory {
 public:
  WatchMemory();
  ~WatchMemory();
  WatchMemory(const WatchMemory&) = delete;
  WatchMemory& operator=(const WatchMemory&) = delete;
};

}  // namespace emulator
