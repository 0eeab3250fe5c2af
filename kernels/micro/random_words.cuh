#pragma once
// fill_shared makes operands of random words: power and clock depend on the operands, and zeros take less power than
// real data.

#include "kernels/device/bytes.cuh"

namespace napkin {

/// Returns 32 random bits, a function of `seed`.
__device__ __forceinline__ u32 random_word(u32 seed) {
  seed = (seed ^ 61) ^ seed >> 16;
  seed *= 9;
  seed ^= seed >> 4;
  seed *= 0x27d4eb2d;
  return seed ^ seed >> 15;
}

/// Returns two bf16 numbers of magnitude 0.5 to 2 and any sign, a function of `seed`.
__device__ __forceinline__ u32 random_pair(u32 seed) { return (random_word(seed) & 0x80FF80FF) | 0x3F003F00; }

/// Returns a nearly normal number, the sum of four random bytes, of mean 0 and variance 1.
__device__ __forceinline__ float random_normal(u32 seed) {
  const u32 word = random_word(seed);
  const u32 sum = (word & 0xFF) + (word >> 8 & 0xFF) + (word >> 16 & 0xFF) + (word >> 24);
  return (static_cast<float>(sum) - 510.f) * (1.f / 147.8f);
}

/// Returns four normal numbers of e4m3.
__device__ __forceinline__ u32 random_bytes(u32 seed) {
  return pack_bytes(random_normal(4 * seed), random_normal(4 * seed + 1), random_normal(4 * seed + 2),
                    random_normal(4 * seed + 3));
}

/// Returns a number like those of P in attention_fp8_sm90: 2^8 for a row's largest score, here for normal scores up to
/// 3.
__device__ __forceinline__ float random_probability(u32 seed) {
  float out;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(8.f + 1.4427f * (random_normal(seed) - 3.f)));
  return out;
}
__device__ __forceinline__ u32 random_probabilities(u32 seed) {
  return pack_bytes(random_probability(4 * seed), random_probability(4 * seed + 1), random_probability(4 * seed + 2),
                    random_probability(4 * seed + 3));
}

/// Fills shared memory with random pairs, by all threads of the block; `bytes` is a multiple of 4.
__device__ __forceinline__ void fill_shared(u32 address, u32 bytes) {
  for (u32 at = 4 * threadIdx.x; at < bytes; at += 4 * blockDim.x)
    store_word(address + at, random_pair(at + blockIdx.x * bytes));
}
__device__ __forceinline__ void fill_shared_bytes(u32 address, u32 bytes) {
  for (u32 at = 4 * threadIdx.x; at < bytes; at += 4 * blockDim.x)
    store_word(address + at, random_bytes(at / 4 + blockIdx.x * bytes));
}

/// Combines a word with all words of q, so that the assembler does not drop the loads of q.
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
