#pragma once
// Counters count the work of a launch: 12 boxes, 48 products, 9 waits.

#include <map>
#include <string>

#include "tests/emulator/instructions.hpp"

namespace emulator {

struct Counters {
  u64 boxes_loaded = 0, boxes_stored = 0, box_bytes_stored = 0;
  /// Bytes of boxes that arrived in shared memory, by array; multicast counts at every receiver.
  std::map<std::string, u64> box_bytes;
  u64 box_bytes_sent = 0;  ///< bytes of boxes; multicast counts once
  u64 delivered = 0;       ///< bytes that the hardware counter L2 -> SM would count: boxes by eq. 2.5, and cp.async
  u64 copies = 0, copied_bytes = 0;      ///< copies by cp.async and their bytes; zeros do not count
  u64 wgmma = 0, mma = 0, products = 0;  ///< instructions; `products` are multiply-adds
  u64 ldmatrix = 0, stmatrix = 0, shuffles = 0, votes = 0, exponentials = 0;
  u64 barrier_waits = 0, barrier_arrivals = 0, named_barriers = 0, fences = 0;
  u64 bytes_added = 0;  ///< bytes added to device memory, by the copy engine or from registers
  bool operator==(const Counters&) const = default;
};

}  // namespace emulator
