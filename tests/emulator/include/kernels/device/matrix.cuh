#pragma once
// This is kernels/device/matrix.cuh with the emulator's instructions.

#include "kernels/device/softmax.cuh"
#include "kernels/device/wgmma.cuh"
#include "tests/emulator/cuda.hpp"

#define store_matrices store_matrices_assembly
#include "tests/emulator/assembly_off.hpp"

#include_next "kernels/device/matrix.cuh"

#include "tests/emulator/assembly_on.hpp"
#undef store_matrices

namespace napkin {

inline void store_matrices(u32 address, u32 r0, u32 r1, u32 r2, u32 r3, EMULATOR_PLACE) {
  const u32 registers[] = {r0, r1, r2, r3};
  emulator::store_matrices(address, registers, false, {EMULATOR_AT});
}

}  // namespace napkin
