#pragma once
// This kernel computes forward attention as "FlashAttention on a Napkin" derives it for Hopper (section 5, Tables 1 to
// 3): Q and K of e4m3, all else of fp16, a row a thread. Tensor cores and threads exchange S, P and each product of P
// and V through shared memory. Knobs are those of napkin_fp8_sm90.yaml.

#include "kernels/attention/napkin/rows_napkin.cuh"
#include "kernels/device/bytes.cuh"
#include "kernels/device/clock.cuh"
#include "kernels/device/wgmma_halves.cuh"

namespace napkin {

/// A thread's accumulators of 64 rows by `Columns`.
template <bool Single, int Columns>
struct Accumulator {
  using Type = u32[Columns / 4];
};
template <int Columns>
struct Accumulator<true, Columns> {
  using Type = float[Columns / 2];
};

template <NapkinConfig N>
struct NapkinConsumer : NapkinRows<N> {
  using Rows = NapkinRows<N>;
  using Block = NapkinBlock<N>;
  using Block::C, Block::rows, Block::product_rows, Block::barrier, Block::wg;
  using typename Rows::Outputs, typename Rows::RowState;
  using Position = Ring<C.stages>;

  static constexpr int halves = 2;  // products of 64 rows
  static constexpr int blocks = C.dv / N.d_block, loops = C.x / N.u_x;
  using Scores = u32[halves][C.x / 4];
  using Partial = typename Accumulator<N.single, N.d_block>::Type[halves];

  /// Issues and commits S = Q K of a chunk.
  __device__ __forceinline__ void issue_scores(Scores& s, const Position& at) const {
    constexpr int span = Block::d_span;
    const u32 q = matrix_address(Block::q_place(wg)), k_matrix = matrix_address(Block::k_place(at.stage));
    barrier_wait(barrier(Block::k_full + at.stage), at.parity);
    wgmma_fence();
#pragma unroll
    for (int h = 0; h < halves; ++h) {
#pragma unroll
      for (int k = 0; k < C.d; k += 16)
        wgmma_e4m3_halves<C.x>(s[h], descriptor<span>(q + descriptor_offset<rows, span>(h * product_rows, k), 0),
                               descriptor<span>(k_matrix + descriptor_offset<C.x, span>(0, k), 0), k != 0);
    }
    wgmma_commit();
  }

  /// Stores this thread's fragments of 64 rows by `Columns` of 16 bits, a pair a register, in shared memory, where a
  /// thread then reads a whole row.
  template <int Columns, int Span>
  static __device__ __forceinline__ void spread(u32 base, const u32* pairs, int half) {
    const auto [row, column] = matrix_place();
#pragma unroll
    for (int c = 0; c < Columns; c += 16) {
      const u32* r = pairs + c / 4;
      store_matrices(base + swizzled<rows, Span>(half * product_rows + row, c + column), r[0], r[1], r[2], r[3]);
    }
  }
  static __device__ __forceinline__ void spread_single(u32 base, const float* d, int half) {
    const u32 lane = threadIdx.x % warp_threads;
#pragma unroll
    for (int i = 0; i < N.d_block / 2; i += 2) {
      const u32 row = half * product_rows + warp_row() + fragment_row(lane, i), column = fragment_column(lane, i);
      store_two_words(base + swizzled<rows, Block::partial_span>(row, 2 * column), __float_as_uint(d[i]),
                      __float_as_uint(d[i + 1]));
    }
  }

  /// Issues and commits D = P V over a subloop's keys, for a block of V's columns.
  __device__ __forceinline__ void issue_outputs(Partial& d, u32 stage, int loop, int block) const {
    constexpr int x_span = Block::x_span, v_span = Block::v_span;
    constexpr u32 next_span = descriptor_offset<C.x, v_span>(0, v_span);
    const u32 a_matrix = matrix_address(Block::p_place()), v_matrix = matrix_address(Block::v_place(stage));
    wgmma_fence();
#pragma unroll
    for (int h = 0; h < halves; ++h) {
#pragma unroll
      for (int k = 0; k < N.u_x; k += 16) {
        const int key = loop * N.u_x + k;
        const u64 a = descriptor<x_span>(a_matrix + descriptor_offset<rows, x_span>(h * product_rows, key), 0);
        const u64 v = descriptor<v_span>(v_matrix + descriptor_offset<C.x, v_span>(key, block * N.d_block), next_span);
        if constexpr (N.single) {
          wgmma<N.d_block, false, 1>(d[h], a, v, k != 0);
        } else {
          wgmma_halves<N.d_block>(d[h], a, v, k != 0);
        }
      }
    }
    wgmma_commit();
  }

  __device__ __forceinline__ void spread_outputs(Partial& d) const {
#pragma unroll
    for (int h = 0; h < halves; ++h) {
      pin(d[h]);
      if constexpr (N.single) {
        spread_single(Block::partial_place(), d[h], h);
      } else {
        spread<N.d_block, Block::partial_span>(Block::partial_place(), d[h], h);
      }
    }
  }

  __device__ __forceinline__ void release(int slot) const {
    if (warpgroup_thread() == 0) barrier_arrive(barrier(slot));
  }

  /// Adds P V of a subloop to O', a block of columns at a time: the product of a block runs while the threads add the
  /// block before. The first wait also waits for the next chunk's scores, if they were issued.
  __device__ __forceinline__ void join_outputs(Outputs& o, const RowState& state, u32 stage, int loop) const {
    Partial d;
    issue_outputs(d, stage, loop, 0);
#pragma unroll
    for (int block = 0; block < blocks; ++block) {
      wgmma_wait<0>();
      spread_outputs(d);
      if (block + 1 < blocks) issue_outputs(d, stage, loop, block + 1);
      __syncwarp();
      Rows::accumulate(o, state.delta, block);
      __syncwarp();
    }
  }

  __device__ __forceinline__ void attend(const Tile& tile, Outputs& o, RowState& state) const {
    Scores s;
    Position at;
    barrier_wait(barrier(Block::q_full + wg), 0);
    issue_scores(s, at);
    wgmma_wait<0>();
#pragma unroll 1
    for (int n = tile.last - 1; n >= tile.first; --n) {
      pin(s[0]);
      pin(s[1]);
      release(Block::k_empty + at.stage);
      Position next = at;
      next.advance();
      spread<C.x, Block::x_span>(Block::p_place(), s[0], 0);
      spread<C.x, Block::x_span>(Block::p_place(), s[1], 1);
      __syncwarp();
      if (n > tile.first) issue_scores(s, next);
      const bool hidden = n >= tile.whole_last || n < tile.whole_first;
#pragma unroll 1
      for (int loop = 0; loop < loops; ++loop) {
        Rows::exponentials(state, tile, n * C.x, loop, hidden);
        async_fence();
        warpgroup_sync(wg);
        if (loop == 0) barrier_wait(barrier(Block::v_full + at.stage), at.parity);
        join_outputs(o, state, at.stage, loop);
      }
      release(Block::v_empty + at.stage);
      at = next;
    }
  }

  __device__ __forceinline__ void consume() const {
    const Tile tile = Block::tile();
    if (tile.q_first >= tile.queries) return;
    Outputs o;
#pragma unroll
    for (int i = 0; i < Rows::outputs; ++i) o[i] = 0;
    RowState state{-infinity, 0, 0};
    if (tile.first < tile.last) attend(tile, o, state);
    Rows::finish(o, state, tile);
  }
};

template <NapkinConfig N>
__global__ void __launch_bounds__((N.forward.warpgroups + 1) * 128, 1)
    napkin_fp8_sm90(const __grid_constant__ AttentionArguments arguments) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const u32 shared = shared_address(memory), warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / warpgroup_threads, 0);
  const NapkinBlock<N> block{shared, arguments, warpgroup - 1};
  if (N.forward.cycles && threadIdx.x == 0) note_start(arguments.cycles);
  if (threadIdx.x == 0) block.initialise();
  __syncthreads();
  if (warpgroup == 0) {
    registers_shrink<N.forward.producer_registers>();
    if (threadIdx.x == 0) block.produce();
  } else {
    registers_grow<N.forward.consumer_registers>();
    NapkinConsumer<N>{{{block}}}.consume();
    if (N.forward.cycles && warpgroup_thread() == 0) note_end(arguments.cycles);
  }
}

}  // namespace napkin
