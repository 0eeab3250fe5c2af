#pragma once
// This is kernels/device/barrier.cuh with the emulator's instructions.

#include "kernels/device/shared.cuh"
#include "tests/emulator/cuda.hpp"

#define barrier_init barrier_init_assembly
#define barrier_init_fence barrier_init_fence_assembly
#define barrier_arrive barrier_arrive_assembly
#define barrier_arrive_remote barrier_arrive_remote_assembly
#define barrier_expect barrier_expect_assembly
#define barrier_wait barrier_wait_assembly
#define named_sync named_sync_assembly
#define named_arrive named_arrive_assembly
#define warpgroup_sync warpgroup_sync_assembly
#define grid_blocks grid_blocks_assembly
#define cluster_rank cluster_rank_assembly
#define cluster_sync cluster_sync_assembly
#define registers_grow registers_grow_assembly
#define registers_shrink registers_shrink_assembly
#define post post_assembly
#define read read_assembly
#include "tests/emulator/assembly_off.hpp"

#include_next "kernels/device/barrier.cuh"

#include "tests/emulator/assembly_on.hpp"
#undef barrier_init
#undef barrier_init_fence
#undef barrier_arrive
#undef barrier_arrive_remote
#undef barrier_expect
#undef barrier_wait
#undef named_sync
#undef named_arrive
#undef warpgroup_sync
#undef grid_blocks
#undef cluster_rank
#undef cluster_sync
#undef registers_grow
#undef registers_shrink
#undef post
#undef read

namespace napkin {

inline void barrier_init(u32 barrier, u32 arrivals, EMULATOR_PLACE) {
  emulator::barrier_init(barrier, arrivals, {EMULATOR_AT});
}
inline void barrier_init_fence(EMULATOR_PLACE) { emulator::barrier_init_fence({EMULATOR_AT}); }
inline void barrier_arrive(u32 barrier, EMULATOR_PLACE) { emulator::barrier_arrive(barrier, 0, -1, {EMULATOR_AT}); }
inline void barrier_arrive_remote(u32 barrier, u32 rank, EMULATOR_PLACE) {
  emulator::barrier_arrive(barrier, 0, static_cast<int>(rank), {EMULATOR_AT});
}
inline void barrier_expect(u32 barrier, u32 bytes, EMULATOR_PLACE) {
  emulator::barrier_arrive(barrier, bytes, -1, {EMULATOR_AT});
}
inline void barrier_wait(u32 barrier, u32 parity, EMULATOR_PLACE) {
  emulator::barrier_wait(barrier, parity, {EMULATOR_AT});
}

inline void named_sync(NamedBarrier kind, u32 warpgroup, u32 threads, EMULATOR_PLACE) {
  emulator::named_barrier(static_cast<u32>(kind) + warpgroup, threads, true, {EMULATOR_AT});
}
inline void named_arrive(NamedBarrier kind, u32 warpgroup, u32 threads, EMULATOR_PLACE) {
  emulator::named_barrier(static_cast<u32>(kind) + warpgroup, threads, false, {EMULATOR_AT});
}
inline void warpgroup_sync(u32 warpgroup, EMULATOR_PLACE) {
  named_sync(NamedBarrier::warpgroup, warpgroup, warpgroup_threads, EMULATOR_AT);
}

inline int grid_blocks() { return static_cast<int>(emulator::position->blocks); }
inline u32 cluster_rank() { return emulator::position->rank; }
inline void cluster_sync(EMULATOR_PLACE) { emulator::cluster_barrier({EMULATOR_AT}); }

template <int N>
void registers_grow(EMULATOR_PLACE) {
  emulator::set_registers(N, true, {EMULATOR_AT});
}
template <int N>
void registers_shrink(EMULATOR_PLACE) {
  emulator::set_registers(N, false, {EMULATOR_AT});
}

inline void post(u32 address, int value, EMULATOR_PLACE) {
  emulator::shared_write(address, &value, sizeof value, {EMULATOR_AT});
}
inline int read(u32 address, EMULATOR_PLACE) {
  int value;
  emulator::shared_read(&value, address, sizeof value, {EMULATOR_AT});
  return value;
}

}  // namespace napkin
