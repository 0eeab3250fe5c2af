#pragma once
// Fp8Producer is the producer warpgroup of attention_fp8_sm90: it loads boxes as attention_sm90's does, and transposes
// V (V^T is `turned` in names), since tensor cores take e4m3 operands only with the contracted axis innermost. Example:
// 32 keys of 16 columns are one ldmatrix, four permutations of bytes and one stmatrix of a warp.

#include "kernels/attention/fp8/block_fp8.cuh"
#include "kernels/attention/sm90/producer_sm90.cuh"
#include "kernels/device/bytes.cuh"
#include "kernels/device/mma.cuh"

namespace napkin {

/// Returns the address of element (r + row, c + column) of a swizzled tile from that of (r, c), in one instruction.
/// `row` is a multiple of 8, c and `column` within their span have no bit in common, the tile begins at a multiple of
/// 128 bytes.
template <int Rows, int Columns>
__device__ __forceinline__ u32 swizzled_further(u32 address, int row, int column) {
  return (address ^ (column % Columns * 2)) + (column / Columns * Rows + row) * Columns * 2;
}

template <AttentionFp8Config F>
struct Fp8Producer : AttentionProducer<F.forward> {
  static constexpr AttentionConfig C = F.forward;
  using Base = AttentionProducer<C>;
  using Block = AttentionBlock<C>;
  using Places = Fp8Places<F>;
  using Position = Ring<C.stages>;
  using Base::arguments, Base::shared, Base::barrier;

  /// Columns of a part, which is 32 keys of 16 columns a warp: the four warps transpose 64 columns at once.
  static constexpr int columns = 16 * Places::producer_warps, column_parts = C.dv / columns;

  __device__ __forceinline__ void load_v(const Tile& tile, int row, const Position& at) const {
    barrier_wait(barrier(Places::raw_empty + at.stage), at.parity ^ 1);
    Base::template load_chunk<C.dv / 2>(arguments.v_map, Places::v_place(shared, at.stage),
                                        barrier(Block::v_full + at.stage), tile, row);
  }

  /// Transposes `Count` parts of 32 keys and 16 columns, a warp each; `v` and `turned` are this lane's addresses in the
  /// first. Two words of ldmatrix, each two columns of two keys, become two words of one column and four keys each.
  template <int Count>
  static __device__ __forceinline__ void turn_parts(u32 v, u32 turned, int part) {
    // So 16 keys of V^T lie in the order 0 1 8 9 2 3 10 11 ..., which is P's order in the accumulators of S, and even
    // columns lie before odd ones in every 16 rows: the eight rows of a stmatrix are neighbours and have no bank
    // conflicts.
    u32 r[Count][4];
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      const int key = (part + i) / column_parts * 32, column = (part + i) % column_parts * columns;
      load_matrices_transposed(r[i], swizzled_further<C.x, Places::v_span>(v, key, column / 2));
    }
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      const int key = (part + i) / column_parts * 32, column = (part + i) % column_parts * columns;
      store_matrices(swizzled_further<Places::turned_rows, Places::turned_span>(turned, column, key / 2),
                     even_bytes(r[i][0], r[i][1]), odd_bytes(r[i][0], r[i][1]), even_bytes(r[i][2], r[i][3]),
                     odd_bytes(r[i][2], r[i][3]));
    }
  }

  /// Transposes V in stage `at`, by four warps together.
  __device__ __forceinline__ void turn(const Position& at) const {
    // Two parts at a time hide some of the latency; a producer that also takes tiles from the counter (longest_first)
    // has no registers for it.
    constexpr int parts = C.x / 32 * column_parts;
    constexpr int step = C.order != TileOrder::longest_first && parts % 2 == 0 ? 2 : 1;
    const u32 lane = threadIdx.x % warp_threads, column = threadIdx.x / warp_threads * 16;
    const u32 v = Places::v_place(shared, at.stage) + swizzled<C.x, Places::v_span>(lane, column / 2);
    const u32 turned = Places::turned_place(shared, at.stage) + swizzled<Places::turned_rows, Places::turned_span>(
                                                                    column + matrix_row(lane), matrix_column(lane));
    barrier_wait(barrier(Block::v_full + at.stage), at.parity);
    barrier_wait(barrier(Block::v_empty + at.stage), at.parity ^ 1);
#pragma unroll
    for (int part = 0; part < parts; part += step) turn_parts<step>(v, turned, part);
    async_fence();
    __syncwarp();
    if (threadIdx.x % warp_threads == 0) {
      barrier_arrive(barrier(Places::turned_full + at.stage));
      barrier_arrive(barrier(Places::raw_empty + at.stage));
    }
    __syncwarp();
  }

  /// Returns the next tile to all lanes. With longest_first the first warp takes it from the counter and tells the
  /// others.
  __device__ __forceinline__ int next_of(int index, u32& parity, bool first) const {
    int next = index + grid_blocks();
    if constexpr (C.order == TileOrder::longest_first) {
      if (threadIdx.x % warp_threads == 0) {
        if (first) {
          next = Base::draw();
          Base::announce(next, parity);
        } else {
          next = Block::template next_tile<1>(index, parity);
        }
      }
      next = __shfl_sync(0xffffffffu, next, 0);
    }
    if constexpr (C.order == TileOrder::grid) next = arguments.shape.tiles;
    return next;
  }

  /// Loads and transposes. K and V, which the first warp's lane 0 loads, are a chunk ahead of the one that is
  /// transposed.
  __device__ __forceinline__ void produce() const {
    const u32 warp = __shfl_sync(0xffffffffu, threadIdx.x / warp_threads, 0);
    const bool loads = threadIdx.x == 0, asks = threadIdx.x == warp_threads;
    Position ring;
    Ring<C.q_stages> q;
    u32 parity = 0;
    for (int index = blockIdx.x; index < arguments.shape.tiles; index = next_of(index, parity, warp == 0)) {
      const Tile tile = Base::tile_of(index);
      if (tile.first >= tile.last) continue;
      int row = tile.x_row + (tile.last - 1) * C.x;
      const int first = tile.x_row + tile.first * C.x;
      if (asks) Base::load_q(tile, q);
      q.advance();
      if (loads) {
        Base::load_k(tile, row, ring);
        load_v(tile, row, ring);
      }
#pragma unroll 1
      for (; row >= first; row -= C.x) {
        Position ahead = ring;
        ahead.advance();
        if (loads && row > first) {
          Base::load_k(tile, row - C.x, ahead);
          load_v(tile, row - C.x, ahead);
        }
        __syncwarp();
        turn(ring);
        ring = ahead;
      }
    }
  }
};

}  // namespace napkin
