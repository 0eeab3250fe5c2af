#pragma once
// SharedMemory is a block's shared memory with its history: for each 16 bytes (a granule) the last writer and its time,
// the readers since then, and whether the asynchronous proxy may read them.

#include <string>
#include <vector>

#include "tests/emulator/clock.hpp"

namespace emulator {

constexpr u32 granule_bytes = 16;

/// An access by a warp, or by a unit on behalf of a warp, whose clock holds the earlier accesses that it has seen.
struct Access {
  const Clock* seen;
  u32 part;    ///< component of the clock that reads or writes
  u32 time;    ///< time of that component
  bool async;  ///< true through the asynchronous proxy
  Place at;
};

class SharedMemory {
 public:
  /// Empties the memory; `first_part` is the first of the block's clock components.
  void reset(u32 bytes, u32 first_part);

  /// Checks an access against the history and adds it. Returns the error, or an empty text; `offset` counts from the
  /// beginning.
  [[nodiscard]] std::string read(u32 offset, u32 bytes, const Access& access);
  [[nodiscard]] std::string write(u32 offset, u32 bytes, const Access& access);

  /// Makes the content of these granules visible to the asynchronous proxy.
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

/// Returns the name of a clock component for errors: "block 0 warp 3", "the copy engine".
[[nodiscard]] std::string name_of_part(u32 part);
[[nodiscard]] std::string text_of(Place at);

}  // namespace emulator
