#pragma once
// BackwardProducer loads the data of a block of attention_backward_sm90: one thread loads the block's K and V once,
// then tile by tile Q and dO with their rows' log-sum-exp and delta.

#include "kernels/attention/backward/block_sm90.cuh"
#include "kernels/device/bulk.cuh"

namespace napkin {

template <AttentionBackwardConfig C>
struct BackwardProducer : BackwardBlock<C> {
  using Block = BackwardBlock<C>;
  using Block::arguments, Block::barrier;

  /// Loads C.x rows of K or V, in spans of that many columns.
  template <int D, int Span>
  __device__ __forceinline__ void load_keys(const TensorMap& map, u32 to, u32 full, const KeyTile& tile) const {
    barrier_expect(full, C.x * D * 2);
#pragma unroll 1
    for (int c = 0; c < D; c += Span)
      load_box(to + c * C.x * 2, map, full, evict_first, c, tile.x_start + tile.x_first, tile.head, tile.map_batch);
  }

  /// Loads C.q rows of Q or dO, and from `floats` the log-sum-exp or delta of each row.
  template <int D>
  __device__ __forceinline__ void load_queries(const TensorMap& map, u32 to, u32 full, const float* floats,
                                               u32 floats_to, const KeyTile& tile, int in_group, int q_tile) const {
    constexpr int span = swizzle_columns(D);
    barrier_expect(full, C.q * D * 2 + Block::row_bytes);
#pragma unroll 1
    for (int c = 0; c < D; c += span)
      load_box(to + c * C.q * 2, map, full, evict_last, c, in_group, tile.q_start + q_tile * C.q, tile.head,
               tile.map_batch);
    load_bytes(floats_to, floats + Block::scratch(tile, in_group, q_tile) * C.q, Block::row_bytes, full);
  }

  __device__ __forceinline__ void produce() const {
    const KeyTile tile = Block::key_tile();
    if (tile.first >= tile.last) return;
    load_keys<C.d, Block::k_span>(arguments.k_map, Block::k_place(), barrier(Block::k_full), tile);
    Ring<C.stages> q;
    Ring<C.o_stages> d_o;
    bool first = true;
    int t = tile.start, in_group = 0;
#pragma unroll 1
    for (int left = arguments.shape.g * (tile.last - tile.first); left > 0; --left) {
      barrier_wait(barrier(Block::q_empty + q.stage), q.parity ^ 1);
      load_queries<C.d>(arguments.q_map, Block::q_place(q.stage), barrier(Block::q_full + q.stage), arguments.rows_lse,
                        Block::lse_place(q.stage), tile, in_group, t);
      q.advance();
      if (first) load_keys<C.dv, Block::dv_span>(arguments.v_map, Block::v_place(), barrier(Block::v_full), tile);
      first = false;
      barrier_wait(barrier(Block::do_empty + d_o.stage), d_o.parity ^ 1);
      load_queries<C.dv>(arguments.do_map, Block::do_place(d_o.stage), barrier(Block::do_full + d_o.stage),
                         arguments.rows_delta, Block::delta_place(d_o.stage), tile, in_group, t);
      d_o.advance();
      if (++t == tile.last) t = tile.first;
      if (t == tile.start) ++in_group;
    }
  }
};

}  // namespace napkin
