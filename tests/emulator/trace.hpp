#pragma once
// An Event is one of what ran, in the order in which it was asked for, with what its threads had seen by then: which
// waits there were.

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/emulator/clock.hpp"

namespace emulator {

struct Event {
  /// thread: a warp from its wait for a product on; write: what it writes from there on, to shared memory or to a sum,
  /// or between two releases where it waits for no product.
  enum class Kind { load, store, product, thread, write } kind = Kind::load;
  std::string array;         ///< load, store: whose box; none where bytes are added
  u32 block = 0, agent = 0;  ///< product, a box's store: warpgroup; thread, write, an addition of bytes: warp
  u32 commit = 0;            ///< product: its group's number
  u32 offset = 0;  ///< in shared memory: where the box goes, where operand B lies; thread, write: of the product that
                   ///< was waited for, or where it is written
  u32 to = 0;      ///< write: its first place in shared memory
  bool by_matrix = false;       ///< write: its first was an stmatrix
  bool a_in_registers = false;  ///< product, and the one that thread and write waited for
  Clock before;                 ///< what the threads that asked had seen; of a warpgroup what each of its warps had
  u32 part = 0, time = 0;       ///< its end: who has seen this component of that time has waited for it
  u32 issuer = 0;               ///< component of the (first) warp that asked
  std::array<u32, 4> issued{};  ///< until when, by warp; 0: that warp did not

  /// Whether what `later` asked for waited for this one's end, or until it was handed over.
  [[nodiscard]] bool ended_before(const Event& later) const { return later.before[part] >= time; }
  [[nodiscard]] bool issued_before(const Event& later) const {
    for (u32 warp = 0; warp < issued.size(); ++warp) {
      if (later.before[issuer + warp] < issued[warp]) return false;
    }
    return true;
  }
};

/// Events in the order in which they were asked for.
struct Trace : std::vector<Event> {
  /// Beginnings of arrays in shared memory, ascending. If there are any, a warp's writes to two arrays are two events,
  /// and so are those of stmatrix and of ordinary stores.
  std::vector<u32> arrays;

  [[nodiscard]] std::ptrdiff_t array_at(u32 offset) const {
    return std::upper_bound(arrays.begin(), arrays.end(), offset) - arrays.begin();
  }
};

}  // namespace emulator
