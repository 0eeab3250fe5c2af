#pragma once
// shape_scores makes inputs of attention whose scores have a shape: a ramp along the keys, or one score of each row
// beyond all others. It changes normal random numbers in place, with one thread for each row of K and of Q.

#include "kernels/runtime/fill_arguments.cuh"

namespace napkin {

template <ScoresConfig C>
__device__ __forceinline__ unsigned short rounded(float value) {
  unsigned int pair;
  if constexpr (C.bf16) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %1;" : "=r"(pair) : "f"(value));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %1;" : "=r"(pair) : "f"(value));
  }
  return static_cast<unsigned short>(pair);
}

/// Returns four times a 16-bit number.
template <ScoresConfig C>
__device__ __forceinline__ unsigned short fourfold(unsigned short value) {
  unsigned short out;
  if constexpr (C.bf16) {
    asm("mul.rn.bf16 %0, %1, %2;" : "=h"(out) : "h"(value), "h"(static_cast<unsigned short>(0x4080)));
  } else {
    asm("mul.rn.f16 %0, %1, %2;" : "=h"(out) : "h"(value), "h"(static_cast<unsigned short>(0x4400)));
  }
  return out;
}

__device__ __forceinline__ unsigned short* row_at(unsigned short* of, const RowStrides& strides, int batch, int head,
                                                  int row) {
  return of + batch * strides.batch + head * strides.head + row * strides.row;
}

template <ScoresConfig C>
__global__ void shape_scores(const __grid_constant__ ScoresArguments a) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x,
                  first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if constexpr (!C.spike) {
    for (long long i = first; i < static_cast<long long>(a.b) * a.h * a.x_rows; i += step) {
      const int key = static_cast<int>(i % a.x_rows), head = static_cast<int>(i / a.x_rows % a.h);
      const float score = a.step * static_cast<float>(a.last_first ? a.x_rows - 1 - key : key) / a.unit;
      unsigned short* row = row_at(a.k, a.k_strides, static_cast<int>(i / a.x_rows / a.h), head, key);
      row[0] = rounded<C>(floorf(score));
      row[1] = rounded<C>(score - floorf(score));
    }
  }
  const int heads = a.h * a.g;
  for (long long i = first; i < static_cast<long long>(a.b) * heads * a.q_rows; i += step) {
    const int query = static_cast<int>(i % a.q_rows), head = static_cast<int>(i / a.q_rows % heads),
              batch = static_cast<int>(i / a.q_rows / heads);
    unsigned short* row = row_at(a.q, a.q_strides, batch, head, query);
    if constexpr (C.spike) {
      // The key's row times four: its own score is 4 |k|^2 / sqrt d, while others have a deviation of 4 |k| / sqrt d.
      const int seen = a.causal ? query + a.x_rows - a.q_rows + 1 : a.x_rows;
      if (seen <= 0) continue;
      unsigned int place = (static_cast<unsigned int>(i) + 1u) * 2654435761u ^ a.seed;
      place ^= place >> 15;
      const unsigned short* key =
          row_at(a.k, a.k_strides, batch, head / a.g, static_cast<int>(place * 2246822519u >> 3) % seen);
      for (int c = 0; c < a.d; ++c) row[c] = fourfold<C>(key[c]);
    } else {
      row[0] = row[1] = rounded<C>(a.constant);
    }
  }
}

}  // namespace napkin
