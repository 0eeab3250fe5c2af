#pragma once
// AttentionEpilogue writes attention_sm90's results: one warpgroup divides its O by the softmax's sums, writes the
// log-sum-exp, and stores O, whole rows through shared memory and the copy engine, rows of packed or empty tiles
// straight from registers.

#include "kernels/attention/sm90/products_sm90.cuh"

namespace napkin {

template <AttentionConfig C>
struct AttentionEpilogue : AttentionProducts<C> {
  using Block = AttentionBlock<C>;
  using Block::arguments, Block::wg, Block::rows, Block::dv_span, Block::outputs;
  using typename Block::Outputs;
  using RowState = typename AttentionSoftmax<C>::RowState;

  /// Number of the barrier at which warpgroups that divide O's columns meet. The numbers before it are those of three
  /// warpgroups' turns.
  static constexpr u32 columns_meet = 4;

  /// Divides O by its rows' sums and writes the log-sum-exp; a row that saw no key gives 0 and -infinity.
  __device__ __forceinline__ void finish(const Tile& tile, Outputs& o, RowState& state) const {
    const u32 lane = threadIdx.x % warp_threads, row = Block::thread_row(lane);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float z = quad_sum(state.sum[r]);
      const float inverse = z > 0 ? 1.f / z : 0.f;
#pragma unroll
      for (int i = 0; i < outputs / 4; ++i) {
        o[fragment_index(i, r, 0)] *= inverse;
        o[fragment_index(i, r, 1)] *= inverse;
      }
      const TileRow own = Block::row_of(tile, row + 8 * r);
      if (lane % 4 == 0 && own.exists && arguments.lse != nullptr && (!C.by_columns || wg == 0)) {
        const float value = z > 0 ? state.maximum[r] * arguments.scale + __logf(z) : -infinity;
        arguments.lse[lse_index<C.packed>(arguments.shape, tile, own)] = value;
      }
    }
  }

  /// Stores O through shared memory (this warpgroup's part of Q's place) and the copy engine, which clips ragged last
  /// rows.
  __device__ __forceinline__ void store_boxes(const Tile& tile, const Outputs& o, u32 copy) const {
    const u32 base = Block::q_place(copy, Block::row_part()) + Block::first_column() * (rows * 2);
    const auto [row, column] = matrix_place();
    if constexpr (C.by_columns)
      named_sync(NamedBarrier::turn, columns_meet, C.warpgroups * warpgroup_threads);  // Q is read
#pragma unroll
    for (int c = 0; c < Block::columns; c += 16) {
      const float* v = o + c / 2;
      store_matrices(base + swizzled<rows, dv_span>(row, c + column), pack<C.bf16>(v[0], v[1]),
                     pack<C.bf16>(v[2], v[3]), pack<C.bf16>(v[4], v[5]), pack<C.bf16>(v[6], v[7]));
    }
    async_fence();
    warpgroup_sync(wg);
    if (warpgroup_thread() == 0) {
#pragma unroll
      for (int c = 0; c < Block::columns; c += dv_span) {
        store_box(base + c * rows * 2, arguments.o_map, Block::first_column() + c, tile.packed_head,
                  tile.q_row + Block::row_part() * (rows / C.g), tile.head, tile.map_batch);
      }
      store_commit();
    }
  }

  /// Releases buffer `copy` of Q to the producer.
  __device__ __forceinline__ void release_q(u32 copy) const {
    barrier_arrive(Block::barrier(Block::q_empty + Block::q_slot(copy, Block::row_part())));
  }

  /// Releases buffer `pending` of Q to the producer once the copy engine has read O from it; does nothing for a
  /// negative number. With a second buffer of Q the next tile's first product hides this wait.
  __device__ __forceinline__ void store_settle(int pending) const {
    if (pending >= 0 && warpgroup_thread() == 0) {
      store_wait_read();
      release_q(pending);
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
      for (int i = 0; i < outputs / 4; ++i) {
        if (Block::has_columns(Block::first_column() / 8 + i))
          to[Block::first_column() / 2 + 4 * i + lane % 4] =
              pack<C.bf16>(o[fragment_index(i, r, 0)], o[fragment_index(i, r, 1)]);
      }
    }
  }
};

}  // namespace napkin
