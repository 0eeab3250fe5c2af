#pragma once
// Fp8Places adds to attention_sm90's block of pairs of e4m3 what lies beside it in attention_fp8_sm90: V as it comes,
// V^T as the tensor cores want it, and the barriers between them.

#include "kernels/attention/fp8/arguments_fp8.cuh"
#include "kernels/attention/sm90/block_sm90.cuh"

namespace napkin {

// attention_sm90's barriers of V have other ends here: v_full is the copy engine's word that V is there, v_empty the
// consumers' that V^T may change. Between them, by copy: V^T is there, and V has been read, by each warp of the
// producer.
template <AttentionFp8Config F>
struct Fp8Places {
  static constexpr AttentionConfig C = F.forward;
  using Block = AttentionBlock<C>;

  static constexpr int producer_warps = 4;
  static constexpr int block_rows = 128;  // that share a scale
  static constexpr u32 v_bytes = C.x * C.dv;
  // Columns of 16 bits in a swizzle span of V and of V^T.
  static constexpr int v_span = swizzle_columns(C.dv / 2), turned_span = swizzle_columns(C.x / 2);
  static constexpr int turned_full = Block::mailbox + 1, raw_empty = turned_full + C.stages;

  static __device__ __forceinline__ u32 v_place(u32 shared, u32 stage) { return shared + C.v_offset + stage * v_bytes; }
  static __device__ __forceinline__ u32 turned_place(u32 shared, u32 stage) {
    return shared + F.turned_offset + stage * v_bytes;
  }

  static __device__ __forceinline__ void initialise(const Block& block) {
    for (int s = 0; s < Block::q_copies; ++s) {
      barrier_init(block.barrier(Block::q_full + s), 1);
      barrier_init(block.barrier(Block::q_empty + s), 1);
    }
    for (int s = 0; s < C.stages; ++s) {
      barrier_init(block.barrier(Block::k_full + s), 1);
      barrier_init(block.barrier(Block::v_full + s), 1);
      barrier_init(block.barrier(turned_full + s), producer_warps);
      barrier_init(block.barrier(raw_empty + s), producer_warps);
      barrier_init(block.barrier(Block::k_empty + s), C.warpgroups * 4);
      barrier_init(block.barrier(Block::v_empty + s), C.warpgroups);
    }
    barrier_init(block.barrier(Block::mail_full), 1);
    barrier_init(block.barrier(Block::mail_empty), C.warpgroups + producer_warps - 1);
    barrier_init_fence();
  }

  static __device__ __forceinline__ float scale_at(const Fp8ScaleView& scale, int batch, int head, int row) {
    if (scale.first == nullptr) return 1;
    return scale.first[static_cast<long long>(batch) * scale.batch + static_cast<long long>(head) * scale.head +
                       static_cast<long long>(row / block_rows) * scale.block];
  }
};

}  // namespace napkin
