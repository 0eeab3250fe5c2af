#pragma once
// Matrices of 8 x 8 elements go from registers to swizzled shared memory by stmatrix: a warp's 16 x 16 accumulators
// take one instruction. The swizzle is that of the copy engine and of wgmma.

#include "kernels/device/softmax.cuh"
#include "kernels/device/wgmma.cuh"

namespace napkin {

/// Returns the byte offset of element (row, column) in a tile of `Rows` rows, stored as spans of `Columns` 16-bit
/// elements: each span is [Rows][Columns], its 16-byte units permuted as the copy engine and wgmma expect.
template <int Rows, int Columns>
__device__ __forceinline__ u32 swizzled(u32 row, u32 column) {
  constexpr u32 mask = Columns == 64 ? 7 : Columns == 32 ? 3 : 1;
  const u32 span = column / Columns;
  const u32 offset = (row * Columns + column % Columns) * 2;
  return span * (Rows * Columns * 2) + (offset ^ ((offset >> 7 & mask) << 4));
}

/// Stores four 8x8 matrices of 16-bit elements; lane l gives the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void store_matrices(u32 address, u32 r0, u32 r1, u32 r2, u32 r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(r0), "r"(r1),
               "r"(r2), "r"(r3)
               : "memory");
}

}  // namespace napkin
