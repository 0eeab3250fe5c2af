#pragma once
// running() runs a kernel of a few lines on the emulator, for tests of its instructions.

#include <doctest/doctest.h>

#include <string>

#include "tests/emulator/device_memory.hpp"
#include "tests/emulator/engine.hpp"

namespace emulator::test {

constexpr u32 base = base_address, all = 0xFFFFFFFFu;

template <class Kernel>
std::string run(u32 threads, const Kernel& kernel, u32 cluster = 1, u64 seed = 1) {
  Counters counters;
  Engine running(seed, counters);
  const WatchMemory watch;
  return running.run(
      {cluster, threads, cluster, 32768, [](const void* k) { (*static_cast<const Kernel*>(k))(); }, &kernel}, 0);
}

/// Checks a kernel with each of twenty seeds.
template <class Kernel>
void always_says(const char* words, u32 threads, const Kernel& kernel, u32 cluster = 1) {
  for (u64 seed = 1; seed <= 20; ++seed) {
    const std::string error = run(threads, kernel, cluster, seed);
    CAPTURE(seed);
    CAPTURE(error);
    CHECK(error.find(words) != std::string::npos);
  }
}

inline u32 self() { return position->thread; }

inline TensorBoxes matrix_map(const DeviceArray& array, u32 columns, u32 rows, u32 box_columns, u32 box_rows,
                              u32 swizzle) {
  TensorBoxes map{};
  map.name = "M";
  map.base = array.data();
  map.rank = 2;
  map.element_bytes = 2;
  map.swizzle_bytes = swizzle;
  map.sizes[0] = columns;
  map.sizes[1] = rows;
  map.strides[0] = 2;
  map.strides[1] = columns * 2;
  map.box[0] = box_columns;
  map.box[1] = box_rows;
  return map;
}

}  // namespace emulator::test
