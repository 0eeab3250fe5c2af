#pragma once
// AttentionProducts issues attention_sm90's products: one warpgroup's S = Q K and O += P V on the tensor cores. It also
// places P in shared memory where a variant multiplies from there, and releases the stages of K and V to the producer.

#include "kernels/attention/sm90/softmax_sm90.cuh"
#include "kernels/device/mma.cuh"

namespace napkin {

template <AttentionConfig C>
struct AttentionProducts : AttentionSoftmax<C> {
  using Block = AttentionBlock<C>;
  using Block::rows, Block::d_span, Block::dv_span, Block::x_span, Block::barrier, Block::wg;
  using typename Block::Scores, typename Block::Outputs, typename Block::Probabilities;

  /// Arrives once for every `Threads` threads, in each block of the cluster: a stage of V is freed by each warpgroup,
  /// one of K by each warp, since a warp may need its K once more (score_again).
  template <u32 Threads>
  __device__ __forceinline__ void release(u32 slot) const {
    if constexpr (C.cluster > 1) {
      if (threadIdx.x % Threads < C.cluster) barrier_arrive_remote(barrier(slot), threadIdx.x % Threads);
    } else {
      if (threadIdx.x % Threads == 0) barrier_arrive(barrier(slot));
    }
  }
  __device__ __forceinline__ void release_k(u32 stage) const { release<warp_threads>(Block::k_empty + stage); }
  __device__ __forceinline__ void release_v(u32 stage) const { release<warpgroup_threads>(Block::v_empty + stage); }

  __device__ __forceinline__ void wait_k(const Ring<C.stages>& at) const {
    barrier_wait(barrier(Block::k_full + at.stage), at.parity);
  }
  __device__ __forceinline__ void wait_v(const Ring<C.stages>& at) const {
    barrier_wait(barrier(Block::v_full + at.stage), at.parity);
  }

  /// Waits for this warpgroup's turn on the tensor cores, with ping-pong.
  __device__ __forceinline__ void wait_turn() const {
    if constexpr (C.pingpong) named_sync(NamedBarrier::turn, wg, 2 * warpgroup_threads);
  }
  __device__ __forceinline__ void pass_turn() const {
    if constexpr (C.pingpong) named_arrive(NamedBarrier::turn, (wg + 1) % C.warpgroups, 2 * warpgroup_threads);
  }
  /// Gives the first turn to the first warpgroup.
  __device__ __forceinline__ void open_turns() const {
    if (C.pingpong && wg == 0) named_arrive(NamedBarrier::turn, 0, 2 * warpgroup_threads);
  }

  /// Returns the address, for descriptors, of this warpgroup's rows in buffer `copy` of Q. The shuffle keeps it
  /// uniform: else the compiler makes each product's descriptor in vector registers, and moving it takes longer than a
  /// product of few columns (docs/hardware/attention_sm90.md). Three warpgroups have no register for it.
  __device__ __forceinline__ u32 q_matrix(u32 copy) const {
    const u32 matrix = matrix_address(Block::q_place(copy, Block::row_part()));
    return C.warpgroups < 3 && C.q_stages > 1 ? __shfl_sync(0xffffffffu, matrix, 0) : matrix;
  }

  /// Issues and commits S = Q K, Q from q_matrix().
  __device__ __forceinline__ void issue_scores(Scores& s, u32 q, u32 stage) const {
    const u32 k_matrix = matrix_address(Block::k_place(stage));
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < C.d; k += 16) {
      wgmma<C.x, C.bf16, 0>(s, descriptor<d_span>(q + descriptor_offset<rows, d_span>(0, k), 0),
                            descriptor<d_span>(k_matrix + descriptor_offset<C.x, d_span>(0, k), 0), k != 0);
    }
    wgmma_commit();
  }

  /// Issues and commits O += P V.
  __device__ __forceinline__ void issue_outputs(Outputs& o, const Probabilities& p, u32 stage, bool accumulate) const {
    constexpr u32 next_span = descriptor_offset<C.x, dv_span>(0, dv_span);
    static_assert(Block::columns % dv_span == 0);
    const u32 p_matrix = matrix_address(Block::p_place()),
              v_matrix = matrix_address(Block::v_place(stage) + Block::first_column() * (C.x * 2));
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < C.x; k += 16) {
      const u64 v = descriptor<dv_span>(v_matrix + descriptor_offset<C.x, dv_span>(k, 0), next_span);
      if constexpr (C.p_shared) {
        wgmma<Block::columns, C.bf16, 1>(o, descriptor<x_span>(p_matrix + descriptor_offset<rows, x_span>(0, k), 0), v,
                                         accumulate || k != 0);
      } else {
        wgmma<Block::columns, C.bf16, 1>(o, p + k / 4, v, accumulate || k != 0);
      }
    }
    wgmma_commit();
  }

  /// Releases V's stage once O += P V is done. pin() tells the compiler that O and P may change only from here on.
  __device__ __forceinline__ void outputs_done(Outputs& o, Probabilities& p, u32 stage) const {
    pin(o);
    pin(p);
    release_v(stage);
  }

  /// Pins S once it is done, and releases K's stage unless a warp may read it again (rescale=rarely).
  __device__ __forceinline__ void scores_done(Scores& s, u32 stage) const {
    pin(s);
    if constexpr (!C.rescale_rarely) release_k(stage);
  }

  /// Stores P in shared memory, if the variant multiplies it from there (p_in=shared).
  __device__ __forceinline__ void place(const Probabilities& p) const {
    if constexpr (C.p_shared) {
      const u32 base = Block::p_place();
      const auto [row, column] = matrix_place();
#pragma unroll
      for (int k = 0; k < C.x; k += 16) {
        const u32* r = p + k / 4;
        store_matrices(base + swizzled<rows, x_span>(row, k + column), r[0], r[1], r[2], r[3]);
      }
      async_fence();
      warpgroup_sync(wg);
    }
  }

  /// Computes S = Q K of a chunk once more, by this warp alone with mma.sync.
  __device__ __forceinline__ void score_again(Scores& s, u32 copy, u32 stage) const {
    const u32 q = Block::q_place(copy, Block::row_part()), k_place = Block::k_place(stage),
              lane = threadIdx.x % warp_threads;
    const u32 row = warp_row() + lane % 16, column = lane / 16 * 8;
#pragma unroll
    for (int i = 0; i < Block::scores; ++i) s[i] = 0;
#pragma unroll 1
    for (int k = 0; k < C.d; k += 16) {
      u32 a[4];
      load_matrices(a, q + swizzled<rows, d_span>(row, k + column));
#pragma unroll
      for (int x = 0; x < C.x; x += 16) {
        u32 b[4];
        load_matrices(b, k_place + swizzled<C.x, d_span>(x + lane % 16, k + column));
        mma<C.bf16>(s + x / 2, a, b[0], b[2]);
        mma<C.bf16>(s + x / 2 + 4, a, b[1], b[3]);
      }
    }
  }
};

}  // namespace napkin
