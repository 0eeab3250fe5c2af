#pragma once
// quad_max and quad_sum are the softmax of rows that are spread over four lanes each, as the accumulators of mma and
// wgmma are: the maximum and the sum of a row take two shuffles each.

#include "kernels/device/shared.cuh"

namespace napkin {

/// Packs two floats as a pair of 16-bit elements, the first in the low half.
template <bool Bf16>
__device__ __forceinline__ u32 pack(float low, float high) {
  u32 pair;
  if constexpr (Bf16) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  }
  return pair;
}

/// Returns the first 16-bit element of a pair, or the second (`high`), as a float.
template <bool Bf16>
__device__ __forceinline__ float unpack(u32 pair, bool high) {
  if constexpr (Bf16) return __uint_as_float(high ? pair & 0xffff0000u : pair << 16);
  float value;
  const unsigned short half = static_cast<unsigned short>(high ? pair >> 16 : pair);
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return value;
}

__device__ __forceinline__ float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Stops the assembler from moving instructions across it. It is an instruction itself (PMTRIG, a profiler's trigger).
__device__ __forceinline__ void scheduling_fence() { asm volatile("pmevent 1;"); }

/// Returns the maximum over the four lanes that share a row of an accumulator; quad_sum() returns the sum.
__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

}  // namespace napkin
