#pragma once
// These functions compute with pairs of fp16 in a 32-bit register, the first in the low half: one instruction works on
// both. (PTX ISA, sm_90)

#include "kernels/device/softmax.cuh"

namespace napkin {

constexpr u32 hidden_halves = 0xFC00FC00u;  // -infinity twice

/// Returns a pair whose halves are both x, rounded.
__device__ __forceinline__ u32 both_halves(float x) { return pack<false>(x, x); }

__device__ __forceinline__ u32 multiply_add_halves(u32 a, u32 b, u32 c) {
  u32 d;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}
__device__ __forceinline__ u32 add_halves(u32 a, u32 b) {
  u32 d;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
__device__ __forceinline__ u32 largest_halves(u32 a, u32 b) {
  u32 d;
  asm("max.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  return d;
}
__device__ __forceinline__ u32 exp2_halves(u32 x) {
  u32 y;
  asm("ex2.approx.f16x2 %0, %1;" : "=r"(y) : "r"(x));
  return y;
}

/// Stores 16 bytes at a 16-byte aligned address of shared memory.
__device__ __forceinline__ void store_quad(u32 address, u32 w0, u32 w1, u32 w2, u32 w3) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(w0), "r"(w1), "r"(w2), "r"(w3)
               : "memory");
}

}  // namespace napkin
