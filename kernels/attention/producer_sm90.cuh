#pragma once
// attention_sm90's producer: one thread moves Q, one K and V, by the copy engine.

#include "kernels/attention/block_sm90.cuh"

namespace napkin {

template <AttentionConfig C>
struct AttentionProducer : AttentionBlock<C> {
  using Block = AttentionBlock<C>;
  using Block::q_full, Block::q_empty, Block::k_full, Block::k_empty, Block::v_full, Block::v_empty, Block::mail_full,
      Block::mail_empty, Block::mailbox;
  using Block::rows, Block::d_span, Block::q_bytes, Block::k_bytes, Block::v_bytes;
  using Block::shared, Block::arguments, Block::barrier, Block::tile_of, Block::q_place, Block::q_slot;

  // Each warpgroup's rows by themselves: one that has stored its O begins its next tile while another still works.
  __device__ __forceinline__ void load_q(const Tile& tile, const Ring<C.q_stages>& at) const {
#pragma unroll 1
    for (int w = 0; w < C.warpgroups; ++w) {
      const u32 slot = q_slot(at.stage, w), full = barrier(q_full + slot);
      barrier_wait(barrier(q_empty + slot), at.parity ^ 1);
      barrier_expect(full, q_bytes);
#pragma unroll 1
      for (int c = 0; c < C.d; c += d_span) {
        load_box(q_place(at.stage, w) + c * rows * 2, arguments.q_map, full, evict_first, c, tile.packed_head,
                 tile.q_row + w * (rows / C.g), tile.head, tile.map_batch);
      }
    }
  }

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
    barrier_wait(barrier(k_empty + at.stage), at.parity ^ 1);
    load_chunk<C.d>(arguments.k_map, shared + C.k_offset + at.stage * k_bytes, barrier(k_full + at.stage), tile, row);
  }
  __device__ __forceinline__ void load_v(const Tile& tile, int row, const Ring<C.stages>& at) const {
    barrier_wait(barrier(v_empty + at.stage), at.parity ^ 1);
    load_chunk<C.dv>(arguments.v_map, shared + C.v_offset + at.stage * v_bytes, barrier(v_full + at.stage), tile, row);
  }

  // By shuffle, of this lane alone, so that the compiler knows the tile to be uniform: of loops over one that is not it
  // lets lanes meet again around every wait and copy.
  __device__ __forceinline__ int draw() const {
    return __shfl_sync(1u, grid_blocks() + atomicAdd(arguments.ticket, 1), 0);
  }

  // Tells the block's other threads.
  __device__ __forceinline__ void announce(int next, u32& parity) const {
    barrier_wait(barrier(mail_empty), parity ^ 1);
    post(barrier(mailbox), next);
    barrier_arrive(barrier(mail_full));
    parity ^= 1;
    // The last block to finish leaves the counters at zero for the next launch.
    if (next >= arguments.shape.tiles &&
        atomicInc(reinterpret_cast<u32*>(arguments.ticket) + 1, grid_blocks() - 1) == grid_blocks() - 1)
      *arguments.ticket = 0;
  }

  // One thread for Q and one for K and V: the next tile's K and V arrive while this tile's O still occupies Q's place.
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

  // K runs one chunk ahead of V. longest_first: this thread draws the block's tiles, each when the last one's loads
  // have been asked for and not before, so that what is long goes to who is free.
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
          // Hides how often, which no pragma does: unrolled, the loop would spill the producer's few registers.
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
