#pragma once
// BackwardProducts issues attention_backward_sm90's five products: of its 64 keys one warpgroup computes S' = K Q' and
// dP' = V dO' (' is transposed), adds P' dO to dV and dS' Q to dK from registers, and computes its part of dQ = dS K,
// for which all warpgroups' dS lies in shared memory.

#include "kernels/attention/backward/block_sm90.cuh"

namespace napkin {

template <AttentionBackwardConfig C>
struct BackwardProducts : BackwardBlock<C> {
  using Block = BackwardBlock<C>;
  using Block::rows, Block::k_span, Block::dv_span, Block::x_span, Block::wg;
  using typename Block::Scores, typename Block::Halves, typename Block::Dq;

  /// Issues and commits to (64 keys x C.q) = rows of `keys` times rows of `queries`.
  template <int D, int KeySpan>
  static __device__ __forceinline__ void issue_pairs(Scores& to, u32 keys, u32 queries) {
    constexpr int span = swizzle_columns(D);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < D; k += 16) {
      wgmma<C.q, C.bf16, 0>(to, descriptor<KeySpan>(keys + descriptor_offset<C.x, KeySpan>(0, k), 0),
                            descriptor<span>(queries + descriptor_offset<C.q, span>(0, k), 0), k != 0);
    }
    wgmma_commit();
  }
  __device__ __forceinline__ void issue_scores(Scores& s, u32 stage) const {
    issue_pairs<C.d, k_span>(s, matrix_address(Block::k_place() + wg * (rows * k_span * 2)),
                             matrix_address(Block::q_place(stage)));
  }
  __device__ __forceinline__ void issue_dp(Scores& dp, u32 stage) const {
    issue_pairs<C.dv, dv_span>(dp, matrix_address(Block::v_place() + wg * (rows * dv_span * 2)),
                               matrix_address(Block::do_place(stage)));
  }

  /// Issues and commits to (64 keys x D) += a (64 x C.q, in registers) times rows of `queries`. 256 columns take two
  /// instructions: one would need more registers than a thread of four warpgroups has at launch.
  template <int D>
  static __device__ __forceinline__ void issue_sum(float (&to)[D / 2], const Halves& a, u32 queries, bool accumulate) {
    constexpr int span = swizzle_columns(D), columns = D > 192 ? D / 2 : D;
    constexpr u32 next_span = descriptor_offset<C.q, span>(0, span);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < C.q; k += 16) {
#pragma unroll
      for (int c = 0; c < D; c += columns) {
        auto& part = reinterpret_cast<float(&)[columns / 2]>(to[c / 2]);
        wgmma<columns, C.bf16, 1>(part, a + k / 4,
                                  descriptor<span>(queries + descriptor_offset<C.q, span>(k, c), next_span),
                                  accumulate || k != 0);
      }
    }
    wgmma_commit();
  }
  __device__ __forceinline__ void issue_dv(float (&dv)[C.dv / 2], const Halves& p, u32 stage, bool accumulate) const {
    issue_sum<C.dv>(dv, p, matrix_address(Block::do_place(stage)), accumulate);
  }
  __device__ __forceinline__ void issue_dk(float (&dk)[C.d / 2], const Halves& ds, u32 stage, bool accumulate) const {
    issue_sum<C.d>(dk, ds, matrix_address(Block::q_place(stage)), accumulate);
  }

  /// Stores dS of this warpgroup's keys in shared memory, transposed: a row is a query.
  __device__ __forceinline__ void place_ds(const Halves& ds, u32 copy) const {
    const u32 lane = threadIdx.x % warp_threads, base = Block::ds_place(copy);
    const u32 key = wg * rows + warp_row() + transposed_column(lane), query = transposed_row(lane);
#pragma unroll
    for (int k = 0; k < C.q; k += 16) {
      const u32* r = ds + k / 4;
      store_matrices_transposed(base + swizzled<C.q, x_span>(k + query, key), r[0], r[1], r[2], r[3]);
    }
    async_fence();
  }

  /// Issues and commits this warpgroup's part of dQ's tile, from all of the block's keys.
  __device__ __forceinline__ void issue_dq(float (&dq)[Dq::numbers], u32 copy) const {
    constexpr u32 next_span = descriptor_offset<C.x, k_span>(0, k_span);
    u32 ds = matrix_address(Block::ds_place(copy)), k_matrix = matrix_address(Block::k_place());
    if constexpr (Dq::by_rows) {
      ds += wg * descriptor_offset<C.q, x_span>(rows, 0);
    } else {
      static_assert(Dq::columns % k_span == 0);
      k_matrix += wg * descriptor_offset<C.x, k_span>(0, Dq::columns);
    }
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < C.x; k += 16) {
      wgmma<Dq::columns, C.bf16, 1>(dq, descriptor<x_span>(ds + descriptor_offset<C.q, x_span>(0, k), 0),
                                    descriptor<k_span>(k_matrix + descriptor_offset<C.x, k_span>(k, 0), next_span),
                                    k != 0);
    }
    wgmma_commit();
  }
};

}  // namespace napkin
