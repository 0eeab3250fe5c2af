#pragma once
// This is kernels/device/bulk.cuh with the emulator's instructions.

#include "kernels/device/barrier.cuh"
#include "tests/emulator/cuda.hpp"

#define load_bytes load_bytes_assembly
#define add_floats add_floats_assembly
#include "tests/emulator/assembly_off.hpp"

#include_next "kernels/device/bulk.cuh"

#include "tests/emulator/assembly_on.hpp"
#undef load_bytes
#undef add_floats

namespace napkin {

inline void load_bytes(u32 to, const void* from, u32 bytes, u32 barrier, EMULATOR_PLACE) {
  emulator::load_bytes(to, from, bytes, barrier, {EMULATOR_AT});
}
inline void add_floats(float* to, u32 from, u32 bytes, EMULATOR_PLACE) {
  emulator::add_floats(to, from, bytes, {EMULATOR_AT});
}

}  // namespace napkin
