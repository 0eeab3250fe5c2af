#pragma once
// A DumpLayout holds the places to which the kernels' debug variants write their intermediates, and write_fragment
// writes a warp's part of an accumulator there: S of tile 3, chunk 5. Host code includes this header to read them.

#include "kernels/device/fragment.cuh"

#ifdef __CUDACC__
#define NAPKIN_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define NAPKIN_HOST_DEVICE
#endif

namespace napkin {

/// Layout of a dump, f32 [tiles][chunks + 1][rows][pitch]. Tiles are numbered as the groups of the grouped axes, the
/// last axis fastest; chunks from the start of the stream, also where a kernel takes them in another order. A row has
/// all arrays of a kernel; the place after the last chunk has the values made after the loop.
struct DumpLayout {
  int rows, pitch, chunks;

  NAPKIN_HOST_DEVICE constexpr long long chunk_size() const { return static_cast<long long>(rows) * pitch; }
  NAPKIN_HOST_DEVICE constexpr long long tile_size() const { return (chunks + 1) * chunk_size(); }
};

#ifdef __CUDACC__
/// Writes a lane's accumulators of a warp's 16 rows, the first of which begins at `to`; `value(i)` is its i-th
/// accumulator.
template <int Count, class Value>
__device__ __forceinline__ void write_fragment(float* to, int pitch, const Value& value) {
  const int lane = warp_lane();
#pragma unroll
  for (int i = 0; i < Count; ++i) to[fragment_row(lane, i) * pitch + fragment_column(lane, i)] = value(i);
}
#endif

}  // namespace napkin

#undef NAPKIN_HOST_DEVICE
