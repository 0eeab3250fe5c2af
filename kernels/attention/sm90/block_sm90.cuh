#pragma once
// AttentionBlock is the common base of attention_sm90's producer and consumers: the places of arrays in shared memory,
// the barriers, and the order of tiles. The consumer is a chain of structs, each derived from the one before: softmax,
// products, epilogue, dumper, consumer.

#include "kernels/attention/common/tiles.cuh"
#include "kernels/device/fragment.cuh"
#include "kernels/device/matrix.cuh"
#include "kernels/device/tma.cuh"

namespace napkin {

template <AttentionConfig C>
struct AttentionBlock {
  static constexpr int rows = 64;                                    // rows of a consumer warpgroup
  static constexpr int parts = C.by_columns ? C.warpgroups : 1;      // parts of O's columns
  static constexpr int row_parts = C.by_columns ? 1 : C.warpgroups;  // parts of the tile's rows
  static constexpr int columns = C.dv / parts;                       // columns of a warpgroup's O
  static constexpr int d_span = swizzle_columns(C.d), dv_span = swizzle_columns(C.dv), x_span = swizzle_columns(C.x);
  static constexpr u32 q_bytes = rows * C.d * 2, o_bytes = rows * C.dv * 2, p_bytes = rows * C.x * 2;
  static constexpr u32 place_bytes = q_bytes > o_bytes ? q_bytes : o_bytes;  // O is staged where its Q was
  static constexpr u32 k_bytes = C.x * C.d * 2, v_bytes = C.x * C.dv * 2;

  /// A thread's fragments of its warpgroup's S and O, and of P in pairs.
  static constexpr int scores = C.x / 2, outputs = columns / 2, probabilities = C.x / 4;
  using Scores = float[scores];
  using Outputs = float[outputs];
  using Probabilities = u32[probabilities];

  /// Barriers, eight bytes each: full and empty of Q by copy and part of the rows, of K and of V by copy, then the
  /// barriers that announce a tile.
  static constexpr int q_copies = C.q_stages * row_parts;
  static constexpr int q_full = 0, q_empty = q_copies, k_full = 2 * q_copies;
  static constexpr int k_empty = k_full + C.stages, v_full = k_empty + C.stages, v_empty = v_full + C.stages,
                       mail_full = v_empty + C.stages, mail_empty = mail_full + 1;
  static constexpr int mailbox = mail_empty + 1;

  u32 shared;
  const AttentionArguments& arguments;
  u32 wg;  // consumer warpgroup

  __device__ __forceinline__ u32 barrier(int slot) const { return shared + C.barriers_offset + 8 * slot; }

  __device__ __forceinline__ void initialise() const {
    for (int s = 0; s < q_copies; ++s) {
      barrier_init(barrier(q_full + s), 1);
      barrier_init(barrier(q_empty + s), parts);
    }
    for (int s = 0; s < C.stages; ++s) {
      barrier_init(barrier(k_full + s), 1);
      barrier_init(barrier(v_full + s), 1);
      barrier_init(barrier(k_empty + s), C.warpgroups * 4 * C.cluster);
      barrier_init(barrier(v_empty + s), C.warpgroups * C.cluster);
    }
    barrier_init(barrier(mail_full), 1);
    barrier_init(barrier(mail_empty), C.warpgroups + 1);
    barrier_init_fence();
  }

  __device__ __forceinline__ Tile tile_of(int index) const {
    return find_tile<C.q, C.x, C.g, C.order, C.mask, C.packed>(arguments.shape, index);
  }

  __device__ __forceinline__ TileRow row_of(const Tile& tile, u32 row) const {
    return napkin::row_of<C.g>(arguments.shape, tile, row);
  }
  /// Returns the address of a row of O in device memory.
  __device__ __forceinline__ unsigned short* output_row(const Tile& tile, const TileRow& row) const {
    return static_cast<unsigned short*>(arguments.o) +
           (tile.map_batch * arguments.o_batch + (tile.q_start + row.query) * arguments.o_row +
            (static_cast<long long>(tile.head) * arguments.shape.g + row.head) * arguments.o_head);
  }

  /// Returns true if O has these eight columns.
  __device__ __forceinline__ bool has_columns(int eighth) const { return !C.padded || 8 * eighth < arguments.shape.dv; }

  /// Returns the part of the tile's rows that this warpgroup has; first_column() returns its first column of O.
  __device__ __forceinline__ u32 row_part() const { return C.by_columns ? 0 : wg; }
  __device__ __forceinline__ u32 first_column() const { return C.by_columns ? wg * columns : 0; }

  /// Returns the tile's row of this lane's first accumulator.
  __device__ __forceinline__ u32 thread_row(u32 lane) const {
    return row_part() * rows + threadIdx.x % warpgroup_threads / warp_threads * 16 + fragment_row(lane, 0);
  }

  __device__ __forceinline__ u32 q_place(u32 copy, u32 part) const {
    return shared + C.q_offset + (copy * row_parts + part) * place_bytes;
  }
  __device__ __forceinline__ u32 k_place(u32 stage) const { return shared + C.k_offset + stage * k_bytes; }
  __device__ __forceinline__ u32 v_place(u32 stage) const { return shared + C.v_offset + stage * v_bytes; }
  __device__ __forceinline__ u32 p_place() const { return shared + C.p_offset + wg * p_bytes; }

  static __device__ __forceinline__ u32 q_slot(u32 copy, u32 part) { return copy * row_parts + part; }

  /// Returns the block's next tile, to the producer of Q (Threads = 1) or to a consumer warpgroup; `parity` is the
  /// phase of the barrier by which tiles are announced.
  template <int Threads>
  __device__ __forceinline__ int next_tile(int current, u32& parity) const {
    if constexpr (C.order == TileOrder::grid) return arguments.shape.tiles;
    if constexpr (C.order == TileOrder::persistent) return current + grid_blocks();
    barrier_wait(barrier(mail_full), parity);
    const int next = read(barrier(mailbox));
    if constexpr (Threads > 1) warpgroup_sync(wg);
    if (Threads == 1 || warpgroup_thread() == 0) barrier_arrive(barrier(mail_empty));
    parity ^= 1;
    return next;
  }
};

}  // namespace napkin
