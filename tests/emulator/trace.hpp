#pragma once
// An Event is a copy, a product or a piece of thread work that ran, in the order of the requests, with the clock of its
// threads at the request, which tells their waits.

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "tests/emulator/clock.hpp"

namespace emulator {

struct Event {
  /// thread: the work of a warp after its wait for a product; write: its writes after that to shared memory or to a
  /// sum, or, without such a wait, between two releases.
  enum class Kind { load, store, product, thread, write } kind = Kind::load;
  std::string array;         ///< load, store: array of the box; none if bytes are added
  u32 block = 0, agent = 0;  ///< product, a box's store: warpgroup; thread, write, an addition of bytes: warp
  u32 commit = 0;            ///< product: number of its commit group
  /// Offset in shared memory of the box, or of operand B; thread, write: that of the product that was waited for, or of
  /// the write.
  u32 offset = 0;
  u32 to = 0;                   ///< write: its first offset in shared memory
  bool by_matrix = false;       ///< write: its first was an stmatrix
  bool a_in_registers = false;  ///< product, and the one that thread and write waited for
  /// Clock of the threads that made the request; of a warpgroup the part that each of its warps had seen.
  Clock before;
  u32 part = 0, time = 0;  ///< end of the event: a warp whose clock has this component at this time has waited for it
  u32 issuer = 0;          ///< component of the (first) warp that made the request
  std::array<u32, 4> issued{};  ///< time of the request by warp; 0: the warp made none

  /// Returns true if the request `later` waited for this event's end; issued_before() if it waited until this event was
  /// issued.
  [[nodiscard]] bool ended_before(const Event& later) const { return later.before[part] >= time; }
  [[nodiscard]] bool issued_before(const Event& later) const {
    for (u32 warp = 0; warp < issued.size(); ++warp) {
      if (later.before[issuer + warp] < issued[warp]) return false;
    }
    return true;
  }
};

/// The events in the order of their requests.
struct Trace : std::vector<Event> {
  /// Beginnings of arrays in shared memory, ascending. If there are any, a warp's writes to two arrays are two events,
  /// and so are those of stmatrix and of ordinary stores.
  std::vector<u32> arrays;

  [[nodiscard]] std::ptrdiff_t array_at(u32 offset) const {
    return std::upper_bound(arrays.begin(), arrays.end(), offset) - arrays.begin();
  }
};

}  // namespace emulator
