#pragma once
// fill_normal makes fresh random inputs: normally distributed 16-bit numbers, each a function of its index and the seed
// alone.

#include "kernels/runtime/fill_arguments.cuh"

namespace napkin {

/// Returns a round of splitmix64: a bijection whose outputs pass the usual tests of randomness.
__device__ __forceinline__ unsigned long long scrambled(unsigned long long x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

template <FillConfig C>
__global__ void fill_normal(const __grid_constant__ FillArguments arguments) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < arguments.count; i += step) {
    const unsigned long long bits = scrambled(scrambled(arguments.seed) ^ static_cast<unsigned long long>(i));
    // Box-Muller; the first uniform is never 0.
    const float u = (static_cast<float>(bits >> 40) + 0.5f) * 0x1p-24f,
                v = static_cast<float>(bits & 0xFFFFFF) * 0x1p-24f;
    const float normal = arguments.deviation * sqrtf(-2.f * logf(u)) * cospif(2.f * v);
    unsigned int pair;
    if constexpr (C.bf16) {
      asm("cvt.rn.bf16x2.f32 %0, %1, %1;" : "=r"(pair) : "f"(normal));
    } else {
      asm("cvt.rn.f16x2.f32 %0, %1, %1;" : "=r"(pair) : "f"(normal));
    }
    arguments.to[i] = static_cast<unsigned short>(pair);
  }
}

}  // namespace napkin
