#pragma once
// This is kernels/device/transpose.cuh with the emulator's instructions.

#include "kernels/device/matrix.cuh"
#include "tests/emulator/cuda.hpp"

#define store_matrices_transposed store_matrices_transposed_assembly
#include "tests/emulator/assembly_off.hpp"

#include_next "kernels/device/transpose.cuh"

#include "tests/emulator/assembly_on.hpp"
#undef store_matrices_transposed

namespace napkin {

inline void store_matrices_transposed(u32 address, u32 r0, u32 r1, u32 r2, u32 r3, EMULATOR_PLACE) {
  const u32 registers[] = {r0, r1, r2, r3};
  emulator::store_matrices(address, registers, true, {EMULATOR_AT});
}

}  // namespace napkin
