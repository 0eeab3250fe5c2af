#pragma once
// A Clock is a vector clock with a component for each warp of a cluster and for each of its asynchronous units. An
// access is ordered before another one if the other's warp has seen the access's time.

#include <algorithm>
#include <array>

#include "tests/emulator/instructions.hpp"

namespace emulator {

constexpr u32 most_blocks = 2, most_warps = 16, most_groups = 4, most_barriers = 64;

// Components of a block. Those that read shared memory come first: a granule knows when each of them read it last.
constexpr u32 warp_part = 0;  // ordinary accesses of a warp, counted in intervals between its releases
constexpr u32 store_part = warp_part + most_warps;         // bulk stores of a warp, by group
constexpr u32 product_part = store_part + most_warps;      // wgmma of a warpgroup, by instruction
constexpr u32 readers = product_part + most_groups;        // of a block
constexpr u32 copy_part = readers;                         // cp.async of a warp, by group
constexpr u32 barrier_part = copy_part + most_warps;       // arrivals of boxes at an mbarrier, by phase
constexpr u32 block_parts = barrier_part + most_barriers;  // of a block
constexpr u32 all_parts = most_blocks * block_parts;

class Clock {
 public:
  u32& operator[](u32 part) { return at_[part]; }
  u32 operator[](u32 part) const { return at_[part]; }
  const u32* from(u32 part) const { return at_.data() + part; }
  void join(const Clock& other) {
    for (u32 i = 0; i < all_parts; ++i) at_[i] = std::max(at_[i], other.at_[i]);
  }
  /// Keeps only what both clocks have seen: the minimum of each component.
  void meet(const Clock& other) {
    for (u32 i = 0; i < all_parts; ++i) at_[i] = std::min(at_[i], other.at_[i]);
  }

 private:
  std::array<u32, all_parts> at_{};
};

}  // namespace emulator
