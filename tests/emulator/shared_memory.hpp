#pragma once
// SharedMemory is a block's shared memory with its history: of each 16 bytes it knows who wrote them last and when, who
// has read them since, and whether the asynchronous proxy may read them.

#include <string>
#include <vector>

#include "tests/emulator/clock.hpp"

namespace emulator {

constexpr u32 granule_bytes = 16;

/// An access by a warp, or by a unit on a warp's behalf: what the warp has seen says what may be touched.
struct Access {
  const Clock* seen;
  u32 part;    ///< of the whole clock: who reads or writes
  u32 time;    ///< by that component's count
  bool async;  ///< through the asynchronous proxy
  Place at;
};

class SharedMemory {
 public:
  /// `first_part`: of the block's components.
  void reset(u32 bytes, u32 first_part);

  /// Hold an access to the history, and enter it. `offset`: from the beginning. Empty, or what is wrong.
  [[nodiscard]] std::string read(u32 offset, u32 bytes, const Access& access);
  [[nodiscard]] std::string write(u32 offset, u32 bytes, const Access& access);

  /// The asynchronous proxy sees what these granules hold.
  void publish(std::vector<u32>& granules);

  [[nodiscard]] bool inside(u32 offset, u32 bytes) const {
    return offset + bytes <= bytes_.size() && offset + bytes >= offset;
  }
  unsigned char* at(u32 offset) { return bytes_.data() + offset; }

 private:
  struct Granule {
    u32 writer = 0, time = 0;
    u16 valid = 0;  ///< by byte
    bool published = true;
    Place at{nullptr, 0};
  };

  [[nodiscard]] std::string unordered(const Granule& granule, const Access& access, const char* verb) const;
  [[nodiscard]] std::string still_read(u32 granule, const Access& access) const;

  u32 first_part_ = 0;
  std::vector<unsigned char> bytes_;
  std::vector<Granule> granules_;
  std::vector<u32> reads_;  ///< [granule][readers]: time
};

/// "block 0 warp 3", "the copy engine", ...: for errors.
[[nodiscard]] std::string name_of_part(u32 part);
[[nodiscard]] std::string text_of(Place at);

}  // namespace emulator
