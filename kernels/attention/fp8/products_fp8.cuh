#pragma once
// Fp8Products issues attention_fp8_sm90's products, S = Q K and P V of e4m3 on the tensor cores, and stores O, whose
// columns it brings back into order.

#include "kernels/attention/fp8/softmax_fp8.cuh"
#include "kernels/device/wgmma_e4m3.cuh"

namespace napkin {

template <AttentionFp8Config F>
struct Fp8Products : Fp8Softmax<F> {
  static constexpr AttentionConfig C = F.forward;
  using Softmax = Fp8Softmax<F>;
  using Base = AttentionEpilogue<C>;
  using Block = AttentionBlock<C>;
  using Places = Fp8Places<F>;
  using Position = Ring<C.stages>;
  using Block::rows, Block::d_span, Block::dv_span, Block::barrier, Block::shared, Block::arguments, Block::wg;
  using typename Block::Scores, typename Block::Outputs, typename Softmax::Probabilities, typename Softmax::RowState;

  /// Issues and commits S = Q K; 32 numbers along d are 16 pairs.
  __device__ __forceinline__ void issue_scores(Scores& s, u32 q, u32 stage) const {
    const u32 k_matrix = matrix_address(Block::k_place(stage));
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < C.d; k += 16) {
      wgmma_e4m3<C.x>(s, descriptor<d_span>(q + descriptor_offset<rows, d_span>(0, k), 0),
                      descriptor<d_span>(k_matrix + descriptor_offset<C.x, d_span>(0, k), 0), k != 0);
    }
    wgmma_commit();
  }

  /// Outputs of a chunk, and sums of P behind them.
  static constexpr int chunk_columns = Places::turned_rows;
  using Chunk = float[chunk_columns / 2];

  /// Issues and commits o (+)= P V; a Chunk has P's sums too.
  template <int Columns>
  __device__ __forceinline__ void issue_outputs(float (&o)[Columns], const Probabilities& p, u32 stage,
                                                bool accumulate) const {
    constexpr int span = Places::turned_span;
    const u32 v_matrix = matrix_address(Places::turned_place(shared, stage));
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < C.x; k += 32) {
      wgmma_e4m3<2 * Columns>(o, p + k / 8,
                              descriptor<span>(v_matrix + descriptor_offset<Places::turned_rows, span>(0, k / 2), 0),
                              accumulate || k != 0);
    }
    wgmma_commit();
  }

  __device__ __forceinline__ void wait_turned(const Position& at) const {
    barrier_wait(barrier(Places::turned_full + at.stage), at.parity);
  }

  /// Divides O by z, multiplies it by V's scale, and writes the log-sum-exp; a row that saw nothing gives 0 and
  /// -infinity.
  __device__ __forceinline__ void finish(const Tile& tile, Outputs& o, const RowState& state, float v_scale) const {
    constexpr float ln2 = 0.69314718055994531f;
    const u32 lane = threadIdx.x % warp_threads, row = Block::thread_row(lane);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float z = F.product_sums ? state.sum[r] : quad_sum(state.sum[r]);
      const float inverse = z > 0 ? v_scale / z : 0.f;
#pragma unroll
      for (int i = 0; i < Block::outputs / 4; ++i) {
        o[fragment_index(i, r, 0)] *= inverse;
        o[fragment_index(i, r, 1)] *= inverse;
      }
      const TileRow own = Block::row_of(tile, row + 8 * r);
      if (lane % 4 == 0 && own.exists && arguments.lse != nullptr) {
        const float value = z > 0 ? (state.maximum[r] - Softmax::lift) * ln2 + __logf(z) : -infinity;
        arguments.lse[lse_index<C.packed>(arguments.shape, tile, own)] = value;
      }
    }
  }

  /// Returns this thread's first two of 16 columns: it has the four from 4 (lane % 4) on, even ones in the first eight
  /// accumulators' columns, odd ones in the second eight's.
  static __device__ __forceinline__ u32 first_pair(const Outputs& o, int sixteen, int r) {
    return pack<true>(o[fragment_index(2 * sixteen, r, 0)], o[fragment_index(2 * sixteen + 1, r, 0)]);
  }
  static __device__ __forceinline__ u32 second_pair(const Outputs& o, int sixteen, int r) {
    return pack<true>(o[fragment_index(2 * sixteen, r, 1)], o[fragment_index(2 * sixteen + 1, r, 1)]);
  }

  /// Stores O through shared memory (this warpgroup's rows of Q) and the copy engine, which clips ragged last rows.
  __device__ __forceinline__ void store_boxes(const Tile& tile, const Outputs& o, u32 copy) const {
    const u32 base = Block::q_place(copy, wg), lane = threadIdx.x % warp_threads;
    const u32 row = warp_row() + fragment_row(lane, 0), column = lane % 4 * 4;
#pragma unroll
    for (int c = 0; c < C.dv / 16; ++c) {
#pragma unroll
      for (int r = 0; r < 2; ++r)
        store_two_words(base + swizzled<rows, dv_span>(row + 8 * r, 16 * c + column), first_pair(o, c, r),
                        second_pair(o, c, r));
    }
    async_fence();
    warpgroup_sync(wg);
    if (warpgroup_thread() == 0) {
#pragma unroll
      for (int c = 0; c < C.dv; c += dv_span) {
        store_box(base + c * rows * 2, arguments.o_map, c, tile.packed_head, tile.q_row + wg * (rows / C.g), tile.head,
                  tile.map_batch);
      }
      store_commit();
    }
  }

  /// Stores O from registers: for packed sequences, where the next sequence's rows follow the last ones, and for empty
  /// tiles.
  __device__ __forceinline__ void store_rows(const Tile& tile, const Outputs& o) const {
    const u32 lane = threadIdx.x % warp_threads, row = Block::thread_row(lane);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const TileRow own = Block::row_of(tile, row + 8 * r);
      if (!own.exists) continue;
      u32* to = reinterpret_cast<u32*>(Block::output_row(tile, own));
#pragma unroll
      for (int c = 0; c < C.dv / 16; ++c) {
        to[8 * c + lane % 4 * 2] = first_pair(o, c, r);
        to[8 * c + lane % 4 * 2 + 1] = second_pair(o, c, r);
      }
    }
  }
};

}  // namespace napkin
