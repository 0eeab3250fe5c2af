#pragma once
// These functions put numbers of eight bits (e4m3) into a thread's registers, four a word, and move them between words
// and shared memory.

#include "kernels/device/shared.cuh"

namespace napkin {

/// Converts four floats to e4m3, the first in the lowest byte; a float beyond 448 becomes 448.
__device__ __forceinline__ u32 pack_bytes(float b0, float b1, float b2, float b3) {
  u32 word;
  asm("{\n.reg .b16 low, high;\n"
      "cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n"
      "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n"
      "mov.b32 %0, {low, high};\n}"
      : "=r"(word)
      : "f"(b0), "f"(b1), "f"(b2), "f"(b3));
  return word;
}

/// Returns bytes 0 and 2 of a, then of b; odd_bytes() returns bytes 1 and 3.
__device__ __forceinline__ u32 even_bytes(u32 a, u32 b) { return __byte_perm(a, b, 0x6420); }
__device__ __forceinline__ u32 odd_bytes(u32 a, u32 b) { return __byte_perm(a, b, 0x7531); }

/// Stores two words at an address that is a multiple of 8.
__device__ __forceinline__ void store_two_words(u32 address, u32 first, u32 second) {
  asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(address), "r"(first), "r"(second) : "memory");
}

}  // namespace napkin
