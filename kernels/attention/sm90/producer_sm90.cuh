#pragma once
// AttentionProducer loads the data of a block of attention_sm90: by the copy engine one thread loads each tile's Q, and
// another its K and V, chunk by chunk.

#include "kernels/attention/sm90/block_sm90.cuh"

namespace napkin {

template <AttentionConfig C>
struct AttentionProducer : AttentionBlock<C> {
  using Block = AttentionBlock<C>;
  using Block::arguments, Block::barrier, Block::tile_of;

  /// Loads each warpgroup's rows of Q separately, so that a warpgroup that has stored its O begins its next tile while
  /// others still compute.
  __device__ __forceinline__ void load_q(const Tile& tile, const Ring<C.q_stages>& at) const {
#pragma unroll 1
    for (int w = 0; w < Block::row_parts; ++w) {
      const u32 slot = Block::q_slot(at.stage, w), full = barrier(Block::q_full + slot);
      barrier_wait(barrier(Block::q_empty + slot), at.parity ^ 1);
      barrier_expect(full, Block::q_bytes);
#pragma unroll 1
      for (int c = 0; c < C.d; c += Block::d_span) {
        load_box(Block::q_place(at.stage, w) + c * Block::rows * 2, arguments.q_map, full, evict_first, c,
                 tile.packed_head, tile.q_row + w * (Block::rows / C.g), tile.head, tile.map_batch);
      }
    }
  }

  /// Loads C.x rows of K or V from `row` on; each block of a cluster loads its share for all.
  template <int D>
  __device__ __forceinline__ void load_chunk(const TensorMap& map, u32 to, u32 full, const Tile& tile, int row) const {
    constexpr int span = swizzle_columns(D), part = C.x / C.cluster;
    barrier_expect(full, C.x * D * 2);
    const u32 rank = C.cluster > 1 ? cluster_rank() : 0;
    const int first = row + static_cast<int>(rank) * part;
#pragma unroll 1
    for (int c = 0; c < D; c += span) {
      const u32 place = to + c * C.x * 2 + rank * (part * span * 2);
      if constexpr (C.cluster > 1) {
        load_box_multicast(place, map, full, evict_last, (1 << C.cluster) - 1, c, first, tile.head, tile.map_batch);
      } else {
        load_box(place, map, full, evict_last, c, first, tile.head, tile.map_batch);
      }
    }
  }

  __device__ __forceinline__ void load_k(const Tile& tile, int row, const Ring<C.stages>& at) const {
    barrier_wait(barrier(Block::k_empty + at.stage), at.parity ^ 1);
    load_chunk<C.d>(arguments.k_map, Block::k_place(at.stage), barrier(Block::k_full + at.stage), tile, row);
  }
  __device__ __forceinline__ void load_v(const Tile& tile, int row, const Ring<C.stages>& at) const {
    barrier_wait(barrier(Block::v_empty + at.stage), at.parity ^ 1);
    load_chunk<C.dv>(arguments.v_map, Block::v_place(at.stage), barrier(Block::v_full + at.stage), tile, row);
  }

  /// Takes the next tile's number from the launch's counter. The shuffle tells the compiler that the number is uniform;
  /// else it would make the lanes converge again around every wait and copy of the loop.
  __device__ __forceinline__ int draw() const {
    return __shfl_sync(1u, grid_blocks() + atomicAdd(arguments.ticket, 1), 0);
  }

  /// Announces the next tile to the block's other threads.
  __device__ __forceinline__ void announce(int next, u32& parity) const {
    barrier_wait(barrier(Block::mail_empty), parity ^ 1);
    post(barrier(Block::mailbox), next);
    barrier_arrive(barrier(Block::mail_full));
    parity ^= 1;
    // The last block to finish leaves the counters at zero for the next launch.
    if (next >= arguments.shape.tiles &&
        atomicInc(reinterpret_cast<u32*>(arguments.ticket) + 1, grid_blocks() - 1) == grid_blocks() - 1)
      *arguments.ticket = 0;
  }

  /// Loads Q in a thread of its own: the next tile's K and V, which another thread loads, arrive while this tile's O
  /// still occupies Q's place.
  __device__ __forceinline__ void produce_q() const {
    Ring<C.q_stages> q;
    u32 parity = 0;
    for (int index = blockIdx.x; index < arguments.shape.tiles; index = Block::template next_tile<1>(index, parity)) {
      const Tile tile = tile_of(index);
      if (tile.first >= tile.last) continue;
      load_q(tile, q);
      q.advance();
    }
  }

  /// Loads K one chunk ahead of V. With longest_first this thread also takes the block's tiles from the counter, each
  /// only when all loads of the one before are issued, so that idle blocks take the long tiles.
  __device__ __forceinline__ void produce_kv() const {
    Ring<C.stages> ring;
    u32 parity = 0;
    int next;
    for (int index = blockIdx.x; index < arguments.shape.tiles; index = next) {
      const Tile tile = tile_of(index);
      const int first = tile.x_row + tile.first * C.x;
      int row = tile.x_row + (tile.last - 1) * C.x;
      if (row >= first) {
        load_k(tile, row, ring);
        for (; row > first; row -= C.x) {
          // Hides the number of iterations from the compiler, which unrolls the loop in spite of the pragma: that would
          // spill the producer's few registers.
          asm volatile("" : "+r"(row));
          Ring<C.stages> ahead = ring;
          ahead.advance();
          load_k(tile, row - C.x, ahead);
          load_v(tile, row, ring);
          ring = ahead;
        }
      }
      if constexpr (C.order == TileOrder::longest_first) next = draw();
      if (row >= first) {
        load_v(tile, first, ring);
        ring.advance();
      }
      if constexpr (C.order == TileOrder::longest_first) {
        announce(next, parity);
      } else {
        next = Block::template next_tile<1>(index, parity);
      }
    }
  }
};

}  // namespace napkin
