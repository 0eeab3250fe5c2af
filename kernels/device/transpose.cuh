#pragma once
// Matrices of 8 x 8 elements go from registers to shared memory transposed on their way: a warp's 16 x 16 accumulators
// take one stmatrix. (PTX ISA, sm_90)

#include "kernels/device/matrix.cuh"

namespace napkin {

/// Stores four 8x8 matrices of 16-bit elements transposed; lane l gives the address that column l % 8 of matrix l / 8
/// goes to.
__device__ __forceinline__ void store_matrices_transposed(u32 address, u32 r0, u32 r1, u32 r2, u32 r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(r0),
               "r"(r1), "r"(r2), "r"(r3)
               : "memory");
}

/// Returns the row that a lane's address of a 16 x 16 accumulator has in the transposed matrix; transposed_column()
/// returns the column.
__device__ __forceinline__ u32 transposed_row(u32 lane) { return lane / 16 * 8 + lane % 8; }
__device__ __forceinline__ u32 transposed_column(u32 lane) { return lane / 8 % 2 * 8; }

}  // namespace napkin
