#pragma once
// NapkinBlock is a block of napkin_fp8_sm90: where its arrays lie in shared memory, its barriers, and its producer, one
// thread that asks the copy engine for Q, K and V. A consumer warpgroup has 128 rows: its products take 64 rows each,
// and in the softmax each of its threads has a row.

#include "kernels/attention/common/tiles.cuh"
#include "kernels/attention/napkin/arguments_napkin.cuh"
#include "kernels/device/fragment.cuh"
#include "kernels/device/matrix.cuh"
#include "kernels/device/tma.cuh"

namespace napkin {

template <NapkinConfig N>
struct NapkinBlock {
  static constexpr AttentionConfig C = N.forward;
  static constexpr int rows = 128, product_rows = 64, stages = C.stages;
  static constexpr int partial_columns = N.single ? 2 * N.d_block : N.d_block;  // columns of dO, in units of 16 bits
  static constexpr int d_span = swizzle_columns(C.d), x_span = swizzle_columns(C.x),
                       v_span = swizzle_columns(N.d_block), partial_span = swizzle_columns(partial_columns);
  static constexpr u32 q_bytes = rows * C.d * 2, k_bytes = C.x * C.d * 2, v_bytes = C.x * C.dv * 2,
                       p_bytes = rows * C.x * 2, partial_bytes = rows * partial_columns * 2;

  /// Barriers, eight bytes each.
  static constexpr int q_full = 0, k_full = C.warpgroups, k_empty = k_full + stages, v_full = k_empty + stages,
                       v_empty = v_full + stages;

  u32 shared;
  const AttentionArguments& arguments;
  u32 wg;  // consumer warpgroup

  __device__ __forceinline__ u32 barrier(int slot) const { return shared + C.barriers_offset + 8 * slot; }
  __device__ __forceinline__ u32 q_place(u32 warpgroup) const { return shared + C.q_offset + warpgroup * q_bytes; }
  __device__ __forceinline__ u32 k_place(u32 stage) const { return shared + C.k_offset + stage * k_bytes; }
  __device__ __forceinline__ u32 v_place(u32 stage) const { return shared + C.v_offset + stage * v_bytes; }
  __device__ __forceinline__ u32 p_place() const { return shared + C.p_offset + wg * p_bytes; }
  __device__ __forceinline__ u32 partial_place() const { return shared + N.partial_offset + wg * partial_bytes; }

  __device__ __forceinline__ void initialise() const {
    for (int w = 0; w < C.warpgroups; ++w) barrier_init(barrier(q_full + w), 1);
    for (int s = 0; s < stages; ++s) {
      barrier_init(barrier(k_full + s), 1);
      barrier_init(barrier(v_full + s), 1);
      barrier_init(barrier(k_empty + s), C.warpgroups);
      barrier_init(barrier(v_empty + s), C.warpgroups);
    }
    barrier_init_fence();
  }

  __device__ __forceinline__ Tile tile() const {
    return find_tile<C.q, C.x, 1, TileOrder::grid, C.mask, C.packed>(arguments.shape, block_id());
  }

  /// Loads C.x rows of K or V from `row` on.
  template <int Columns, int Span>
  __device__ __forceinline__ void load_chunk(const TensorMap& map, u32 to, int full, const Tile& tile, int row) const {
    barrier_expect(barrier(full), C.x * Columns * 2);
#pragma unroll 1
    for (int c = 0; c < Columns; c += Span)
      load_box(to + c * C.x * 2, map, barrier(full), evict_last, c, row, tile.head, tile.map_batch);
  }

  __device__ __forceinline__ void load_q(const Tile& tile) const {
#pragma unroll 1
    for (int w = 0; w < C.warpgroups; ++w) {
      barrier_expect(barrier(q_full + w), q_bytes);
#pragma unroll 1
      for (int c = 0; c < C.d; c += d_span)
        load_box(q_place(w) + c * rows * 2, arguments.q_map, barrier(q_full + w), evict_first, c, tile.packed_head,
                 tile.q_row + w * rows, tile.head, tile.map_batch);
    }
  }

  /// Loads all chunks, the last one first.
  __device__ __forceinline__ void produce() const {
    const Tile own = tile();
    if (own.first >= own.last) return;
    load_q(own);
    Ring<stages> ring;
#pragma unroll 1
    for (int n = own.last - 1; n >= own.first; --n) {
      const int row = own.x_row + n * C.x;
      barrier_wait(barrier(k_empty + ring.stage), ring.parity ^ 1);
      load_chunk<C.d, d_span>(arguments.k_map, k_place(ring.stage), k_full + ring.stage, own, row);
      barrier_wait(barrier(v_empty + ring.stage), ring.parity ^ 1);
      load_chunk<C.dv, v_span>(arguments.v_map, v_place(ring.stage), v_full + ring.stage, own, row);
      ring.advance();
    }
  }
};

}  // namespace napkin
