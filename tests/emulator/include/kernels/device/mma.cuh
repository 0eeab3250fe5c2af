#pragma once
// This is kernels/device/mma.cuh with the emulator's instructions.

#include "kernels/device/shared.cuh"
#include "tests/emulator/cuda.hpp"

#define load_matrices load_matrices_assembly
#define load_matrices_transposed load_matrices_transposed_assembly
#define mma mma_assembly
#include "tests/emulator/assembly_off.hpp"

#include_next "kernels/device/mma.cuh"

#include "tests/emulator/assembly_on.hpp"
#undef load_matrices
#undef load_matrices_transposed
#undef mma

namespace napkin {

inline void load_matrices(u32 (&r)[4], u32 address, EMULATOR_PLACE) {
  emulator::load_matrices(r, address, false, {EMULATOR_AT});
}
inline void load_matrices_transposed(u32 (&r)[4], u32 address, EMULATOR_PLACE) {
  emulator::load_matrices(r, address, true, {EMULATOR_AT});
}
template <bool Bf16>
void mma(float* d, const u32* a, u32 b0, u32 b1, EMULATOR_PLACE) {
  emulator::mma(Bf16, d, a, b0, b1, {EMULATOR_AT});
}

}  // namespace napkin
