#pragma once
// Two small kernels run before and after attention_backward_sm90. The first makes each row's log-sum-exp in powers of
// two and delta = rowsum(dO O), and sets the first sections' sums of dQ to zero. The last scales, rounds and stores dQ
// of the last sections; for the others the launch between them does both (aside_sm90.cuh).

#include "kernels/attention/backward/block_sm90.cuh"
#include "kernels/device/global.cuh"
#include "kernels/device/infinity.cuh"
#include "kernels/device/quad.cuh"
#include "kernels/device/softmax.cuh"

namespace napkin {

/// Rows of dO and O for delta: eight lanes a row, 16 bytes each at a time.
template <AttentionBackwardConfig C>
struct DeltaRows {
  static constexpr int lanes = 8, step = 8;

  static __device__ __forceinline__ const uint4* row_of(const RowsPointer& from, const QueryTile& tile, int head,
                                                        int query) {
    return reinterpret_cast<const uint4*>(static_cast<const unsigned short*>(from.first) + tile.map_batch * from.batch +
                                          (tile.q_start + query) * from.row + head * from.head);
  }

  static __device__ __forceinline__ float products(u32 a, u32 b) {
    return unpack<C.bf16>(a, false) * unpack<C.bf16>(b, false) + unpack<C.bf16>(a, true) * unpack<C.bf16>(b, true);
  }

  static __device__ __forceinline__ float delta(const AttentionBackwardArguments& a, const QueryTile& tile, int head,
                                                int query, int lane) {
    const uint4 *o = row_of(a.o, tile, head, query), *d_o = row_of(a.d_o, tile, head, query);
    float sum = 0;
#pragma unroll
    for (int c = lane; c < C.dv / step; c += lanes) {
      if (C.padded && c * step >= a.shape.dv) break;
      const uint4 x = o[c], y = d_o[c];
      sum += products(x.x, y.x) + products(x.y, y.y) + products(x.z, y.z) + products(x.w, y.w);
    }
    return sum;
  }
};

/// Zeroes a tile of dQ's sum, by `threads` threads.
template <AttentionBackwardConfig C>
__device__ __forceinline__ void zero_tile(const AttentionBackwardArguments& arguments, long long number, int thread,
                                          int threads) {
  float4* zeros = reinterpret_cast<float4*>(arguments.dq_sum + number * (C.q * C.d));
  for (int i = thread; i < C.q * C.d / 4; i += threads) zeros[i] = float4{0, 0, 0, 0};
}

template <AttentionBackwardConfig C>
__global__ void __launch_bounds__(128)
    attention_backward_delta(const __grid_constant__ AttentionBackwardArguments arguments) {
  constexpr float log2_e = 1.4426950408889634f;
  const AttentionBackwardShape& shape = arguments.shape;
  const QueryTile tile = find_query_tile<C.packed>(shape, static_cast<int>(blockIdx.x));
  if (blockIdx.x == 0) {
    for (int i = threadIdx.x; i < shape.sections; i += 128) arguments.zeroed[i] = arguments.added[i] = 0;
  }
  if (tile.number * C.q >= tile.queries) return;
  const long long number = scratch_tile<C.q, C.packed>(shape, tile, tile.in_group, tile.number);
  const int head = tile.head * shape.g + tile.in_group, thread = threadIdx.x, lane = thread % DeltaRows<C>::lanes;
#pragma unroll
  for (int r = thread / DeltaRows<C>::lanes; r < C.q; r += 128 / DeltaRows<C>::lanes) {
    const int query = tile.number * C.q + r;
    float sum = 0;
    if (query < tile.queries) sum = DeltaRows<C>::delta(arguments, tile, head, query, lane);
    for (int distance = 1; distance < DeltaRows<C>::lanes; distance *= 2)
      sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    if (lane != 0) continue;
    float lse = infinity;  // value for rows after the last one and rows that see no key: P is 0
    if (query < tile.queries) {
      const long long row =
          C.packed ? static_cast<long long>(head) * shape.q_starts[shape.b] + tile.q_start + query
                   : (static_cast<long long>(tile.batch) * shape.h.value * shape.g + head) * shape.q + query;
      const float found = arguments.lse[row];
      if (found != -infinity) lse = found * log2_e;
    }
    arguments.rows_lse[number * C.q + r] = lse;
    arguments.rows_delta[number * C.q + r] = sum;
  }
  if (blockIdx.x < static_cast<u32>(shape.ahead * shape.section_tiles)) zero_tile<C>(arguments, number, thread, 128);
  if (thread < 4 * C.warpgroups) arguments.turns[number * (4 * C.warpgroups) + thread] = 0;
}

/// Converts half of a warp's part of a tile of dQ, its lanes' upper or lower rows: reads the sums, scales, rounds and
/// writes the rows. `Unrolled` is how many times 32 columns are done at once: 1 takes the fewest registers.
template <AttentionBackwardConfig C, int Unrolled>
__device__ __forceinline__ void convert_half(const AttentionBackwardArguments& arguments, const QueryTile& tile,
                                             long long number, u32 half) {
  using Dq = GradientOfQueries<C>;
  constexpr int blocks = Dq::numbers / 4;  // blocks of eight columns, taken four at a time; 48 columns are four and two
  const u32 lane = lane_id(), lower = half % 2, warp = half / 2 % 4, wg = half / 8;
  const RowsPointer& to = arguments.dq;
  const float* from = arguments.dq_sum + number * Dq::tile_floats + Dq::part(wg, warp) + Dq::place(0, lane) + 2 * lower;
  const int query =
      tile.number * C.q + static_cast<int>((Dq::by_rows ? wg * 64 : 0) + warp * 16 + lower * 8 + lane / 4);
  const int first = Dq::by_rows ? 0 : static_cast<int>(wg) * Dq::columns;
  uint4* row = reinterpret_cast<uint4*>(
      static_cast<unsigned short*>(to.first) + tile.map_batch * to.batch + (tile.q_start + query) * to.row +
      (tile.head * arguments.shape.g + tile.in_group) * to.head + first + lane % 4 * 8);
  // Blocks that this row has.
  int width = blocks;
  if constexpr (C.padded) width = min(width, (arguments.shape.d - first) / 8);
  if (query >= tile.queries) width = 0;
#pragma unroll Unrolled
  for (int c = 0; c < blocks; c += 4, row += 4, from += Dq::place(4, 0)) {
    u32 pairs[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      pairs[j] = 0;
      if (blocks % 4 != 0 && c + j >= blocks) continue;
      const FloatPair two = load_pair_from_others(from + Dq::place(j, 0));
      pairs[j] = pack<C.bf16>(two.value[0] * arguments.scale, two.value[1] * arguments.scale);
    }
    transpose_quad(pairs);
    if (static_cast<int>(lane % 4) < width - c) *row = uint4{pairs[0], pairs[1], pairs[2], pairs[3]};
  }
}

/// Converts the sections that the launch before has left.
template <AttentionBackwardConfig C>
__global__ void __launch_bounds__(C.warpgroups * 128)
    attention_backward_convert(const __grid_constant__ AttentionBackwardArguments arguments) {
  const AttentionBackwardShape& shape = arguments.shape;
  using Dq = GradientOfQueries<C>;
  const int done = (shape.sections - shape.ahead) * shape.section_tiles;
  const QueryTile tile = find_query_tile<C.packed>(shape, done + static_cast<int>(blockIdx.x));
  if (tile.number * C.q >= tile.queries) return;
  const long long number = scratch_tile<C.q, C.packed>(shape, tile, tile.in_group, tile.number);
#pragma unroll
  for (u32 lower = 0; lower < 2; ++lower)
    convert_half<C, (Dq::numbers + 15) / 16>(arguments, tile, number, threadIdx.x / warp_threads * 2 + lower);
}

}  // namespace napkin
