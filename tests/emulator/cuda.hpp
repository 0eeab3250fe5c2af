#pragma once
// This header defines CUDA's keywords, variables and functions that the kernels use for a C++ compiler: threadIdx,
// __umulhi.

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/emulator/instructions.hpp"

#define __CUDACC__
#define __device__
#define __host__
#define __global__
#define __shared__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n)

#define threadIdx (::emulator::thread_index())
#define blockIdx (::emulator::block_index())

struct alignas(16) uint4 {
  unsigned int x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};

constexpr int no_assembly = 0;  // assembly_off.hpp

namespace emulator {

struct Index {
  unsigned int x;
};
inline Index thread_index() { return {position->thread}; }
inline Index block_index() { return {position->block}; }

}  // namespace emulator

using std::max;
using std::min;

/// `extern __shared__` arrays have no storage here: their address is that of the block's shared memory.
inline unsigned long long __cvta_generic_to_shared(const void*) { return emulator::shared_base(); }

inline unsigned int __umulhi(unsigned int a, unsigned int b) {
  return static_cast<unsigned int>(static_cast<unsigned long long>(a) * b >> 32);
}
inline unsigned int __byte_perm(unsigned int a, unsigned int b, unsigned int selector) {
  const unsigned long long bytes = a | static_cast<unsigned long long>(b) << 32;
  unsigned int out = 0;
  for (unsigned int i = 0; i < 4; ++i)
    out |= static_cast<unsigned int>(bytes >> 8 * (selector >> 4 * i & 7) & 255) << 8 * i;
  return out;
}
inline float __uint_as_float(unsigned int bits) { return __builtin_bit_cast(float, bits); }
inline unsigned int __float_as_uint(float x) { return __builtin_bit_cast(unsigned int, x); }
inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline float __int_as_float(int bits) { return __builtin_bit_cast(float, bits); }
inline int __vimax3_s32(int a, int b, int c) { return std::max(a, std::max(b, c)); }
inline float __logf(float x) { return std::log(x); }
inline long long clock64() {
  static long long clock = 0;
  return ++clock;
}

/// Does nothing: writes to device memory are visible at once.
inline void __threadfence() {}

template <class T>
T atomicAdd(T* to, T value) {
  const T before = *to;
  *to += value;
  return before;
}
inline unsigned int atomicInc(unsigned int* to, unsigned int most) {
  const unsigned int before = *to;
  *to = before >= most ? 0 : before + 1;
  return before;
}
template <class T>
T atomicMin(T* to, T value) {
  const T before = *to;
  *to = std::min(before, value);
  return before;
}
template <class T>
T atomicMax(T* to, T value) {
  const T before = *to;
  *to = std::max(before, value);
  return before;
}

inline void __syncthreads(EMULATOR_PLACE) {
  emulator::named_barrier(0, emulator::position->threads, true, {EMULATOR_AT});
}
inline void __syncwarp(unsigned int mask = 0xffffffffu, EMULATOR_PLACE) { emulator::warp_barrier(mask, {EMULATOR_AT}); }
inline int __any_sync(unsigned int mask, bool predicate, EMULATOR_PLACE) {
  return emulator::ballot(mask, predicate, {EMULATOR_AT}) != 0;
}
inline int __all_sync(unsigned int mask, bool predicate, EMULATOR_PLACE) {
  return emulator::ballot(mask, predicate, {EMULATOR_AT}) == mask;
}
template <class T>
T __shfl_sync(unsigned int mask, T value, unsigned int lane, EMULATOR_PLACE) {
  static_assert(sizeof(T) == 4);
  const unsigned int out = emulator::shuffle(mask, __builtin_bit_cast(unsigned int, value), lane % 32, {EMULATOR_AT});
  return __builtin_bit_cast(T, out);
}
template <class T>
T __shfl_xor_sync(unsigned int mask, T value, unsigned int lanes, EMULATOR_PLACE) {
  static_assert(sizeof(T) == 4);
  const unsigned int out = emulator::shuffle(mask, __builtin_bit_cast(unsigned int, value),
                                             (emulator::position->thread ^ lanes) % 32, {EMULATOR_AT});
  return __builtin_bit_cast(T, out);
}
