#pragma once
// This is kernels/device/shared.cuh with the emulator's instructions.

#include "tests/emulator/cuda.hpp"

#define lane_id lane_id_assembly
#define thread_id thread_id_assembly
#define block_id block_id_assembly
#define store_word store_word_assembly
#define load_quad load_quad_assembly
#include "tests/emulator/assembly_off.hpp"

#include_next "kernels/device/shared.cuh"

#include "tests/emulator/assembly_on.hpp"
#undef lane_id
#undef thread_id
#undef block_id
#undef store_word
#undef load_quad

namespace napkin {

inline u32 lane_id() { return threadIdx.x % warp_threads; }
inline u32 thread_id() { return threadIdx.x; }
inline int block_id() { return static_cast<int>(blockIdx.x); }

inline void store_word(u32 address, u32 value, EMULATOR_PLACE) {
  emulator::shared_write(address, &value, sizeof value, {EMULATOR_AT});
}
inline Quad load_quad(u32 address, EMULATOR_PLACE) {
  Quad quad;
  emulator::shared_read(&quad, address, sizeof quad, {EMULATOR_AT});
  return quad;
}

}  // namespace napkin
