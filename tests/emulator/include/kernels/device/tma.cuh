#pragma once
// This is kernels/device/tma.cuh with the emulator's instructions. A tensor map's first word points at its TensorBoxes.

#include "kernels/device/barrier.cuh"
#include "kernels/device/tensor_map.cuh"
#include "tests/emulator/cuda.hpp"

#define prefetch prefetch_assembly
#define load_box load_box_assembly
#define load_box_multicast load_box_multicast_assembly
#define store_box store_box_assembly
#define store_commit store_commit_assembly
#define store_wait_read store_wait_read_assembly
#define store_wait store_wait_assembly
#define async_fence async_fence_assembly
#include "tests/emulator/assembly_off.hpp"

#include_next "kernels/device/tma.cuh"

#include "tests/emulator/assembly_on.hpp"
#undef prefetch
#undef load_box
#undef load_box_multicast
#undef store_box
#undef store_commit
#undef store_wait_read
#undef store_wait
#undef async_fence

namespace napkin {

inline const emulator::TensorBoxes& boxes_of(const TensorMap& map) {
  return *reinterpret_cast<const emulator::TensorBoxes*>(map.opaque[0]);
}

inline void prefetch(const TensorMap&) {}
inline void load_box(u32 to, const TensorMap& map, u32 barrier, u64, int c0, int c1, int c2, int c3, EMULATOR_PLACE) {
  const int corner[] = {c0, c1, c2, c3};
  emulator::load_box(to, boxes_of(map), barrier, 0, corner, 4, {EMULATOR_AT});
}
inline void load_box_multicast(u32 to, const TensorMap& map, u32 barrier, u64, unsigned short blocks, int c0, int c1,
                               int c2, int c3, EMULATOR_PLACE) {
  const int corner[] = {c0, c1, c2, c3};
  emulator::load_box(to, boxes_of(map), barrier, blocks, corner, 4, {EMULATOR_AT});
}
inline void load_box(u32 to, const TensorMap& map, u32 barrier, u64, int c0, int c1, int c2, int c3, int c4,
                     EMULATOR_PLACE) {
  const int corner[] = {c0, c1, c2, c3, c4};
  emulator::load_box(to, boxes_of(map), barrier, 0, corner, 5, {EMULATOR_AT});
}
inline void load_box(u32 to, const TensorMap& map, u32 barrier, int c0, int c1, EMULATOR_PLACE) {
  const int corner[] = {c0, c1};
  emulator::load_box(to, boxes_of(map), barrier, 0, corner, 2, {EMULATOR_AT});
}
inline void load_box_multicast(u32 to, const TensorMap& map, u32 barrier, unsigned short blocks, int c0, int c1,
                               EMULATOR_PLACE) {
  const int corner[] = {c0, c1};
  emulator::load_box(to, boxes_of(map), barrier, blocks, corner, 2, {EMULATOR_AT});
}
inline void store_box(u32 from, const TensorMap& map, int c0, int c1, EMULATOR_PLACE) {
  const int corner[] = {c0, c1};
  emulator::store_box(from, boxes_of(map), corner, 2, {EMULATOR_AT});
}
inline void store_box(u32 from, const TensorMap& map, int c0, int c1, int c2, int c3, int c4, EMULATOR_PLACE) {
  const int corner[] = {c0, c1, c2, c3, c4};
  emulator::store_box(from, boxes_of(map), corner, 5, {EMULATOR_AT});
}

inline void store_commit(EMULATOR_PLACE) { emulator::store_commit({EMULATOR_AT}); }
template <int Pending = 0>
void store_wait_read(EMULATOR_PLACE) {
  emulator::store_wait(Pending, true, {EMULATOR_AT});
}
inline void store_wait(EMULATOR_PLACE) { emulator::store_wait(0, false, {EMULATOR_AT}); }
inline void async_fence(EMULATOR_PLACE) { emulator::async_fence({EMULATOR_AT}); }

}  // namespace napkin
