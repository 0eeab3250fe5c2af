#pragma once
// This is kernels/device/wgmma_e4m3.cuh with the emulator's instructions.

#include "kernels/device/wgmma.cuh"
#include "tests/emulator/cuda.hpp"

#define wgmma_e4m3 wgmma_e4m3_assembly
#include "tests/emulator/assembly_off.hpp"

#include_next "kernels/device/wgmma_e4m3.cuh"

#include "tests/emulator/assembly_on.hpp"
#undef wgmma_e4m3

namespace napkin {

template <int N>
void wgmma_e4m3(float (&d)[N / 2], u64 a, u64 b, int accumulate, EMULATOR_PLACE) {
  static_assert(N % 32 == 0 && N >= 32 && N <= 256);
  emulator::wgmma({N, false, false, accumulate != 0, a, b, true}, d, nullptr, {EMULATOR_AT});
}
template <int N>
void wgmma_e4m3(float (&d)[N / 2], const u32* a, u64 b, int accumulate, EMULATOR_PLACE) {
  static_assert((N % 32 == 0 && N >= 32 && N <= 256) || N == 72 || N == 136);
  emulator::wgmma({N, false, false, accumulate != 0, 0, b, true}, d, a, {EMULATOR_AT});
}

}  // namespace napkin
