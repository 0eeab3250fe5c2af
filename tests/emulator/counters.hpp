#pragma once
// Counters say what a launch did: 12 boxes, 48 products, 9 waits.

#include <map>
#include <string>

#include "tests/emulator/instructions.hpp"

namespace emulator {

struct Counters {
  u64 boxes_loaded = 0, boxes_stored = 0, box_bytes_stored = 0;
  std::map<std::string, u64> box_bytes;  ///< arrived in shared memory, by array; multicast: at every receiver
  u64 box_bytes_sent = 0;                ///< multicast once
  u64 delivered = 0;                     ///< loads as the L2 -> SM counter sees them: eq. 2.5, box by box; and cp.async
  u64 copies = 0, copied_bytes = 0;      ///< cp.async; zeros are not copied
  u64 wgmma = 0, mma = 0, products = 0;  ///< products: multiply-adds
  u64 ldmatrix = 0, stmatrix = 0, shuffles = 0, votes = 0, exponentials = 0;
  u64 barrier_waits = 0, barrier_arrivals = 0, named_barriers = 0, fences = 0;
  u64 bytes_added = 0;  ///< to device memory, by the copy engine or from registers
  bool operator==(const Counters&) const = default;
};

}  // namespace emulator
