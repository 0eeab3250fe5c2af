#pragma once
// The four lanes that share rows of an accumulator exchange their pairs of columns. Example: a lane has columns 2 and 3
// of four blocks of 8 columns; after it the second lane has all 8 columns of the second block, 16 bytes of a row.

#include "kernels/device/shared.cuh"

namespace napkin {

/// Transposes pairs over four lanes. Before, pairs[j] is this lane's pair of block j; after, pairs[j] is lane j's pair
/// of this lane's block.
__device__ __forceinline__ void transpose_quad(u32 (&pairs)[4]) {
  const bool high = (threadIdx.x & 2u) != 0, odd = (threadIdx.x & 1u) != 0;
  const u32 far0 = __shfl_xor_sync(0xffffffffu, high ? pairs[0] : pairs[2], 2);
  const u32 far1 = __shfl_xor_sync(0xffffffffu, high ? pairs[1] : pairs[3], 2);
  // Of blocks 0 and 1, or 2 and 3: pairs of the lane of this parity among the first two, and among the last two.
  const u32 first0 = high ? far0 : pairs[0], first1 = high ? far1 : pairs[1];
  const u32 last0 = high ? pairs[2] : far0, last1 = high ? pairs[3] : far1;
  const u32 near_first = __shfl_xor_sync(0xffffffffu, odd ? first0 : first1, 1);
  const u32 near_last = __shfl_xor_sync(0xffffffffu, odd ? last0 : last1, 1);
  pairs[0] = odd ? near_first : first0;
  pairs[1] = odd ? first1 : near_first;
  pairs[2] = odd ? near_last : last0;
  pairs[3] = odd ? last1 : near_last;
}

}  // namespace napkin
