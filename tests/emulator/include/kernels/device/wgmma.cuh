#pragma once
// This is kernels/device/wgmma.cuh with the emulator's instructions.

#include "kernels/device/barrier.cuh"
#include "tests/emulator/cuda.hpp"

#define descriptor descriptor_assembly
#define wgmma_fence wgmma_fence_assembly
#define wgmma_commit wgmma_commit_assembly
#define wgmma_wait wgmma_wait_assembly
#define pin pin_assembly
#define wgmma wgmma_assembly
#include "tests/emulator/assembly_off.hpp"

#include_next "kernels/device/wgmma.cuh"

#include "tests/emulator/assembly_on.hpp"
#undef descriptor
#undef wgmma_fence
#undef wgmma_commit
#undef wgmma_wait
#undef pin
#undef wgmma

namespace napkin {

template <int Columns>
u64 descriptor(u32 address, u32 leading) {
  constexpr u32 layout = Columns == 64 ? 1 : Columns == 32 ? 2 : 3, stride = 8 * Columns * 2;
  return static_cast<u64>(stride >> 4 | layout << 30) << 32 | (address + (leading << 16));
}

inline void wgmma_fence(EMULATOR_PLACE) { emulator::wgmma_fence({EMULATOR_AT}); }
inline void wgmma_commit(EMULATOR_PLACE) { emulator::wgmma_commit({EMULATOR_AT}); }
template <int Pending>
void wgmma_wait(EMULATOR_PLACE) {
  emulator::wgmma_wait(Pending, {EMULATOR_AT});
}
template <class T, int N>
void pin(T (&registers)[N], EMULATOR_PLACE) {
  emulator::use_registers(registers, sizeof registers, {EMULATOR_AT});
}

template <int N, bool Bf16, int TransposedB>
void wgmma(float (&d)[N / 2], u64 a, u64 b, int accumulate, EMULATOR_PLACE) {
  static_assert(N % 16 == 0 && N >= 16 && N <= 256);
  emulator::wgmma({N, Bf16, TransposedB != 0, accumulate != 0, a, b}, d, nullptr, {EMULATOR_AT});
}
template <int N, bool Bf16, int TransposedB>
void wgmma(float (&d)[N / 2], const u32* a, u64 b, int accumulate, EMULATOR_PLACE) {
  static_assert(N % 16 == 0 && N >= 16 && N <= 256);
  emulator::wgmma({N, Bf16, TransposedB != 0, accumulate != 0, 0, b}, d, a, {EMULATOR_AT});
}

}  // namespace napkin
