#pragma once
// This is kernels/device/softmax.cuh with the emulator's instructions.

#include "kernels/device/shared.cuh"
#include "tests/emulator/cuda.hpp"

#define pack pack_assembly
#define unpack unpack_assembly
#define exp2_fast exp2_fast_assembly
#define scheduling_fence scheduling_fence_assembly
#include "tests/emulator/assembly_off.hpp"

#include_next "kernels/device/softmax.cuh"

#include "tests/emulator/assembly_on.hpp"
#undef pack
#undef unpack
#undef exp2_fast
#undef scheduling_fence

namespace napkin {

template <bool Bf16>
u32 pack(float low, float high) {
  return emulator::to_16_bits(low, Bf16) | static_cast<u32>(emulator::to_16_bits(high, Bf16)) << 16;
}
template <bool Bf16>
float unpack(u32 pair, bool high) {
  return emulator::to_float(static_cast<unsigned short>(high ? pair >> 16 : pair), Bf16);
}
inline float exp2_fast(float x) {
  ++emulator::exponentials;
  return emulator::exp2_approx(x);
}
inline void scheduling_fence() {}

}  // namespace napkin
