#pragma once
// This is kernels/device/wgmma_halves.cuh with the emulator's instructions.

#include "kernels/device/wgmma.cuh"
#include "tests/emulator/cuda.hpp"

#define wgmma_halves wgmma_halves_assembly
#define wgmma_e4m3_halves wgmma_e4m3_halves_assembly
#include "tests/emulator/assembly_off.hpp"

#include_next "kernels/device/wgmma_halves.cuh"

#include "tests/emulator/assembly_on.hpp"
#undef wgmma_halves
#undef wgmma_e4m3_halves

namespace napkin {

template <int N>
void wgmma_halves(u32 (&d)[N / 4], u64 a, u64 b, int accumulate, EMULATOR_PLACE) {
  emulator::wgmma({N, false, true, accumulate != 0, a, b, false, true}, reinterpret_cast<float*>(d), nullptr,
                  {EMULATOR_AT});
}
template <int N>
void wgmma_e4m3_halves(u32 (&d)[N / 4], u64 a, u64 b, int accumulate, EMULATOR_PLACE) {
  emulator::wgmma({N, false, false, accumulate != 0, a, b, true, true}, reinterpret_cast<float*>(d), nullptr,
                  {EMULATOR_AT});
}

}  // namespace napkin
