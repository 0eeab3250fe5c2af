#pragma once
// This kernel computes forward attention on Ampere and later. Every warp copies, multiplies and computes: cp.async,
// ldmatrix, mma.sync of 16 rows a step, softmax and accumulators in registers. Knobs are those of attention_sm80.yaml;
// offsets come from the plan.

#include "kernels/attention/sm80/epilogue_sm80.cuh"
#include "kernels/device/clock.cuh"

namespace napkin {

template <AttentionSm80Config C>
struct AttentionSm80 : AttentionSm80Epilogue<C> {
  using Block = AttentionSm80Block<C>;
  using Products = AttentionSm80Products<C>;
  using Epilogue = AttentionSm80Epilogue<C>;
  using Block::tile;
  using Epilogue::Epilogue;
  using typename Block::Scores, typename Block::Outputs, typename Block::QFragments, typename Block::Rows;

  /// Adds a chunk of keys to O. With one buffer, V of this chunk is loaded during Q K, and K of the next one during
  /// softmax and P V. With more, later chunks are loaded all the time, and warps wait for each other once a chunk.
  template <bool Masked>
  __device__ __forceinline__ void chunk(int n, Outputs& o, Rows& rows, const QFragments& q) {
    Scores s;
    if constexpr (C.stages == 1) {
      copy_wait<0>();
      __syncthreads();
      Block::template load_v<Masked>(n);
      copy_commit();
      Products::scores(s, q, n);
      copy_wait<0>();
      __syncthreads();
      if (n > tile.first) Block::template load_k<false>(n - 1);
      copy_commit();
    } else {
      copy_wait<C.stages - 2>();
      __syncthreads();
      const int ahead = n - (C.stages - 1);  // chunk to load, into the buffer of chunk n + 1, which all warps have read
      if (ahead >= tile.first) {
        Block::template load_k<false>(ahead);
        Block::template load_v<false>(ahead);
      }
      copy_commit();
      Products::scores(s, q, n);
    }
    Epilogue::note_scores(n, s);
    if constexpr (Masked) Products::apply_mask(s, n);
    const Rows before = rows;
    Products::advance(s, o, rows);
    Products::outputs(o, s, rows, n);
    Epilogue::note_chunk(n, s, before, rows, o);
  }

  /// Computes O from the last chunk of keys to the first: chunks that the end of the keys or the causal mask cuts come
  /// first, and later ones need no test.
  __device__ __forceinline__ void attend(Outputs& o, Rows& rows) {
    QFragments q;
    Block::load_q();
    Block::template load_k<true>(tile.last - 1);
#pragma unroll
    for (int a = 1; a < C.stages - 1; ++a) {
      if (tile.last - 1 - a >= tile.first) Block::template load_k<false>(tile.last - 1 - a);
    }
    copy_commit();
    if constexpr (C.q_registers) {  // V takes the place of Q
      copy_wait<0>();
      __syncthreads();
      const u32 q_lane = Products::q_rows();
#pragma unroll
      for (int i = 0; i < Block::inner; ++i) Products::load_q_fragments(q[i], q_lane, i);
      __syncthreads();
    }
#pragma unroll
    for (int a = 0; a < C.stages - 1; ++a) {
      if (tile.last - 1 - a >= tile.first) {
        if (a == 0) {
          Block::template load_v<true>(tile.last - 1);
        } else {
          Block::template load_v<false>(tile.last - 1 - a);
        }
      }
      copy_commit();
    }
    int n = tile.last - 1;
    const int whole_last = max(tile.whole_last, tile.first), whole_first = max(tile.whole_first, tile.first);
    for (; n >= whole_last; --n) chunk<true>(n, o, rows, q);
    for (; n >= whole_first; --n) chunk<false>(n, o, rows, q);
    if constexpr (C.mask == MaskKind::window) {
      for (; n >= tile.first; --n) chunk<true>(n, o, rows, q);
    }
  }
};

template <AttentionSm80Config C>
__global__ void __launch_bounds__(C.warps * 32, C.blocks)
    attention_sm80(const __grid_constant__ AttentionSm80Arguments arguments) {
  extern __shared__ __align__(128) unsigned char memory[];
  using Kernel = AttentionSm80<C>;
  if (C.cycles && threadIdx.x == 0) note_start(arguments.cycles);
  const u32 shared = shared_address(memory);
  const auto found = [&](int index) {
    return find_tile<C.q, C.x, 1, TileOrder::told, C.mask, C.packed>(arguments.shape, index);
  };
  const Tile tile = found(blockIdx.x);
  if (tile.q_first < tile.queries) {
    typename Kernel::Outputs o;
    typename Kernel::Rows rows;
#pragma unroll
    for (int m = 0; m < Kernel::steps; ++m) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        rows.shift[m][r] = Kernel::first_shift();
        rows.sum[m][r] = 0;
      }
#pragma unroll
      for (int i = 0; i < C.dv / 8; ++i) {
#pragma unroll
        for (int e = 0; e < 4; ++e) o[m][i][e] = 0;
      }
    }
    if (tile.first < tile.last) Kernel(arguments, tile, shared).attend(o, rows);
    // Computed again: kept through the loop, it would take registers that the loop needs.
    const Tile done = found(block_id());
    const Kernel kernel(arguments, done, shared);
    kernel.finish(o, rows);
    kernel.note_outputs(kernel.chunks(), o);
    kernel.store(o);
  }
  if (C.cycles && threadIdx.x % warp_threads == 0) note_end(arguments.cycles);
}

}  // namespace napkin
