#pragma once
// A fragment is what one thread holds of a matrix that its warp multiplies: of an accumulator's 16 rows lane 5 holds
// the rows 1 and 9, and of every eight columns the columns 2 and 3. A warpgroup's 64 rows are those of its four warps,
// one below the other. (PTX ISA: m16n8k16 of mma.sync, m64nNk16 of wgmma) Host code includes this header too.

#ifdef __CUDACC__
#include "kernels/device/shared.cuh"
#define NAPKIN_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define NAPKIN_HOST_DEVICE
#endif

namespace napkin {

/// Returns the row of a lane's i-th accumulator in its warp's 16 rows; fragment_column() returns its column.
template <class Lane>
NAPKIN_HOST_DEVICE constexpr Lane fragment_row(Lane lane, int i) {
  return lane / 4 + i / 2 % 2 * 8;
}
template <class Lane>
NAPKIN_HOST_DEVICE constexpr Lane fragment_column(Lane lane, int i) {
  return i / 4 * 8 + lane % 4 * 2 + i % 2;
}

/// Returns the number of an accumulator, the inverse of both: in the lane's upper (0) or lower (1) row, in the n-th
/// eight columns, the first (0) or second (1) of its pair.
NAPKIN_HOST_DEVICE constexpr int fragment_index(int eight, int lower, int second) {
  return 4 * eight + 2 * lower + second;
}

/// Returns the row of the eight elements whose address a lane gives to ldmatrix or stmatrix, .x4, of a 16 x 16 matrix;
/// matrix_column() returns their first column.
template <class Lane>
NAPKIN_HOST_DEVICE constexpr Lane matrix_row(Lane lane) {
  return lane % 16;
}
template <class Lane>
NAPKIN_HOST_DEVICE constexpr Lane matrix_column(Lane lane) {
  return lane / 16 * 8;
}

#ifdef __CUDACC__
/// Returns this thread's number in its warp. The assembler's order of instructions depends on where threadIdx.x is
/// read; some kernels write threadIdx.x % warp_threads themselves, since calling this function made them slower.
__device__ __forceinline__ u32 warp_lane() { return threadIdx.x % warp_threads; }
__device__ __forceinline__ u32 warpgroup_thread() { return threadIdx.x % warpgroup_threads; }

/// Returns the first of this warp's 16 rows among the 64 of its warpgroup.
__device__ __forceinline__ u32 warp_row() { return threadIdx.x % warpgroup_threads / warp_threads * 16; }

/// Values of matrix_row() and matrix_column() for this thread, the row among its warpgroup's 64.
struct MatrixPlace {
  u32 row, column;
};
__device__ __forceinline__ MatrixPlace matrix_place() {
  const u32 lane = threadIdx.x % warp_threads;
  return {threadIdx.x % warpgroup_threads / warp_threads * 16 + lane % 16, lane / 16 * 8};
}
#endif

}  // namespace napkin

#undef NAPKIN_HOST_DEVICE
