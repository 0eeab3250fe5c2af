#pragma once
// Fp8Places holds the addresses of V in a block of attention_fp8_sm90, as it was loaded and transposed for the tensor
// cores (V^T, `turned`), and the barriers between both. The rest of the block is attention_sm90's, with pairs of e4m3
// as elements.

#include "kernels/attention/fp8/arguments_fp8.cuh"
#include "kernels/attention/sm90/block_sm90.cuh"

namespace napkin {

/// Places and barriers of V, by copy: v_full tells the producer that V is loaded, turned_full the consumers that V^T is
/// there, raw_empty that the producer's warps have read V, and v_empty that the consumers have read V^T.
template <AttentionFp8Config F>
struct Fp8Places {
  static constexpr AttentionConfig C = F.forward;
  using Block = AttentionBlock<C>;

  static constexpr int producer_warps = 4;
  static constexpr int block_rows = 128;  // rows that share a scale
  /// Rows of V^T, of which the last eight are ones where the product finds P's sums.
  static constexpr int turned_rows = C.dv + (F.product_sums ? 8 : 0);
  static constexpr u32 v_bytes = C.x * C.dv, turned_bytes = C.x * turned_rows;
  /// Columns of 16 bits in a swizzle span of V, and of V^T.
  static constexpr int v_span = swizzle_columns(C.dv / 2), turned_span = swizzle_columns(C.x / 2);
  static constexpr int turned_full = Block::mailbox + 1, raw_empty = turned_full + C.stages;

  static __device__ __forceinline__ u32 v_place(u32 shared, u32 stage) { return shared + C.v_offset + stage * v_bytes; }
  static __device__ __forceinline__ u32 turned_place(u32 shared, u32 stage) {
    return shared + F.turned_offset + stage * turned_bytes;
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

  /// Writes the rows of ones of all copies of V^T, which are the same bytes in any swizzle, by a block of `Threads`.
  template <int Threads>
  static __device__ __forceinline__ void write_ones(u32 shared) {
    constexpr u32 one = 0x38383838u;  // four e4m3
    constexpr u32 words = 8 * turned_span * 2 / 4, panels = C.x / 2 / turned_span;
    if constexpr (F.product_sums) {
      for (u32 i = threadIdx.x; i < words * panels * C.stages; i += Threads) {
        const u32 panel = i / words % panels;
        store_word(
            turned_place(shared, i / words / panels) + (panel * turned_rows + C.dv) * turned_span * 2 + i % words * 4,
            one);
      }
      async_fence();
    }
  }

  static __device__ __forceinline__ float scale_at(const Fp8ScaleView& scale, int batch, int head, int row) {
    if (scale.first == nullptr) return 1;
    return scale.first[static_cast<long long>(batch) * scale.batch + static_cast<long long>(head) * scale.head +
                       static_cast<long long>(row / block_rows) * scale.block];
  }
};

}  // namespace napkin
