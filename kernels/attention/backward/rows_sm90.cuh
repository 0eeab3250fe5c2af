#pragma once
// The two small kernels around attention_backward_sm90. Before it: each row's log-sum-exp in powers of two and delta =
// rowsum(dO O), and zeros where dQ is added up. Behind it: dQ, scaled and rounded, from the sum's tiles to rows.

#include "kernels/attention/backward/block_sm90.cuh"
#include "kernels/device/infinity.cuh"
#include "kernels/device/quad.cuh"
#include "kernels/device/softmax.cuh"

namespace napkin {

// Eight lanes a row, 16 bytes each at a time.
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
      const uint4 x = o[c], y = d_o[c];
      sum += products(x.x, y.x) + products(x.y, y.y) + products(x.z, y.z) + products(x.w, y.w);
    }
    return sum;
  }
};

template <AttentionBackwardConfig C>
__global__ void __launch_bounds__(128)
    attention_backward_delta(const __grid_constant__ AttentionBackwardArguments arguments) {
  constexpr float log2_e = 1.4426950408889634f;
  const AttentionBackwardShape& shape = arguments.shape;
  const QueryTile tile = find_query_tile<C.packed>(shape, static_cast<int>(blockIdx.x));
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
    float lse = infinity;  // rows behind the last one, and rows that see nothing: P is 0
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
  float4* zeros = reinterpret_cast<float4*>(arguments.dq_sum + number * (C.q * C.d));
  for (int i = thread; i < C.q * C.d / 4; i += 128) zeros[i] = float4{0, 0, 0, 0};
  if (thread < 4 * C.warpgroups) arguments.turns[number * (4 * C.warpgroups) + thread] = 0;
}

template <AttentionBackwardConfig C>
__global__ void __launch_bounds__(C.warpgroups * 128)
    attention_backward_convert(const __grid_constant__ AttentionBackwardArguments arguments) {
  using Dq = GradientOfQueries<C>;
  const AttentionBackwardShape& shape = arguments.shape;
  const QueryTile tile = find_query_tile<C.packed>(shape, static_cast<int>(blockIdx.x));
  if (tile.number * C.q >= tile.queries) return;
  const u32 thread = threadIdx.x, lane = thread % warp_threads, warp = thread % warpgroup_threads / warp_threads,
            wg = thread / warpgroup_threads;
  const long long number = scratch_tile<C.q, C.packed>(shape, tile, tile.in_group, tile.number);
  const float* from = arguments.dq_sum + number * Dq::tile_floats + Dq::part(wg, warp);
  const int query = tile.number * C.q + static_cast<int>((Dq::by_rows ? wg * 64 : 0) + warp * 16 + lane / 4);
  const int column = Dq::by_rows ? 0 : static_cast<int>(wg) * Dq::columns;
  const RowsPointer& to = arguments.dq;
  uint4* row = reinterpret_cast<uint4*>(static_cast<unsigned short*>(to.first) + tile.map_batch * to.batch +
                                        (tile.q_start + query) * to.row +
                                        (tile.head * shape.g + tile.in_group) * to.head + column);
  uint4* lower_row = reinterpret_cast<uint4*>(reinterpret_cast<unsigned short*>(row) + 8 * to.row);
#pragma unroll
  for (int c = 0; c < Dq::numbers / 4; c += 4) {
    u32 upper[4], lower[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float4 four = *reinterpret_cast<const float4*>(from + Dq::place(c + j, lane));
      upper[j] = pack<C.bf16>(four.x * arguments.scale, four.y * arguments.scale);
      lower[j] = pack<C.bf16>(four.z * arguments.scale, four.w * arguments.scale);
    }
    transpose_quad(upper);
    transpose_quad(lower);
    if (query < tile.queries) row[c + lane % 4] = uint4{upper[0], upper[1], upper[2], upper[3]};
    if (query + 8 < tile.queries) lower_row[c + lane % 4] = uint4{lower[0], lower[1], lower[2], lower[3]};
  }
}

}  // namespace napkin
