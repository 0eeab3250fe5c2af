#pragma once
// fill_shared makes operands of random words: energy and clock depend on what is multiplied, and zeros are no one's
// data.

#include "kernels/device/shared.cuh"

namespace napkin {

// Two bf16 numbers of magnitude 0.5 to 2 and any sign, a function of `seed`.
__device__ __forceinline__ u32 random_pair(u32 seed) {
  seed = (seed ^ 61) ^ seed >> 16;
  seed *= 9;
  seed ^= seed >> 4;
  seed *= 0x27d4eb2d;
  seed ^= seed >> 15;
  return (seed & 0x80FF80FF) | 0x3F003F00;
}

// All threads of the block fill shared memory; `bytes` is a multiple of 4.
__device__ __forceinline__ void fill_shared(u32 address, u32 bytes) {
  for (u32 at = 4 * threadIdx.x; at < bytes; at += 4 * blockDim.x)
    store_word(address + at, random_pair(at + blockIdx.x * bytes));
}

// One word that depends on every word loaded: what nothing reads, the assembler leaves out.
__device__ __forceinline__ u32 folded(u32 into, const Quad& q) {
  into ^= q.word[0] ^ q.word[1];
  return into ^ q.word[2] ^ q.word[3];
}
template <int N>
__device__ __forceinline__ float summed(const float (&values)[N]) {
  float sum = 0.f;
#pragma unroll
  for (int i = 0; i < N; ++i) sum += values[i];
  return sum;
}

}  // namespace napkin
