#pragma once
// BackwardBlock is the common base of attention_backward_sm90's producer and consumers: the places of arrays in shared
// memory, and the barriers. Each struct of the chain derives from the one before and adds its functions.

#include "kernels/attention/backward/tiles.cuh"
#include "kernels/device/fragment.cuh"
#include "kernels/device/tma.cuh"
#include "kernels/device/transpose.cuh"

namespace napkin {

/// The part of dQ's tile that a consumer warpgroup computes: its 64 rows, or, if the tile has only 64, its share of the
/// columns. A warpgroup that computes only dQ takes 64 columns at a time.
template <AttentionBackwardConfig C>
struct GradientOfQueries {
  static constexpr int parts = C.by_gradient ? C.d / 64 : C.warpgroups;
  static constexpr bool by_rows = C.q == 64 * parts;
  static constexpr int columns = by_rows ? C.d : C.d / parts;
  static constexpr int numbers = columns / 2;  // numbers of a thread
  static constexpr u32 warp_floats =
      warp_threads * numbers;  // numbers of a warp, adjacent in scratch and shared memory
  static constexpr u32 tile_floats = C.q * C.d;
  static_assert(by_rows || C.q == 64);

  /// Returns the place of the first float of a warp's share of a part.
  static __device__ __forceinline__ u32 part(u32 number, u32 warp) { return (number * 4 + warp) * warp_floats; }
  /// Returns the place of a lane's four floats from the 4 c-th on, within that share.
  static __device__ __forceinline__ u32 place(int c, u32 lane) { return (c * warp_threads + lane) * 4; }
};

template <AttentionBackwardConfig C>
struct BackwardBlock {
  static constexpr int rows = 64;        // keys of a consumer warpgroup
  static constexpr u32 aside_warps = 3;  // warps of the producer warpgroup that work beside the products
  static constexpr int d_span = swizzle_columns(C.d), dv_span = swizzle_columns(C.dv), x_span = swizzle_columns(C.x);
  static constexpr int k_span = swizzle_columns(GradientOfQueries<C>::columns);  // a part of dQ reads whole spans of K
  static constexpr u32 q_bytes = C.q * C.d * 2, do_bytes = C.q * C.dv * 2, ds_bytes = C.q * C.x * 2;
  static constexpr u32 k_bytes = C.x * C.d * 2, v_bytes = C.x * C.dv * 2, row_bytes = C.q * 4;

  using Dq = GradientOfQueries<C>;
  using Scores = float[C.q / 2];
  using Halves = u32[C.q / 4];

  /// Barriers, eight bytes each.
  static constexpr int q_full = 0, q_empty = C.stages, do_full = 2 * C.stages, do_empty = do_full + C.o_stages;
  static constexpr int k_full = do_empty + C.o_stages, v_full = k_full + 1;
  static constexpr int ds_full = v_full + 1, ds_empty = ds_full + C.s_stages;
  static constexpr int added = ds_empty + C.s_stages, p_full = added + 1, p_empty = p_full + 1;
  /// Warps that read a copy of Q or of dO, and warps that place dS and compute dQ from it.
  static constexpr int readers = 4 * (C.by_gradient ? 2 : C.warpgroups), own = 4 * (C.by_gradient ? 1 : C.warpgroups);

  u32 shared;
  const AttentionBackwardArguments& arguments;
  u32 wg;  // number of the consumer warpgroup, which says its 64 keys and its part of dQ

  __device__ __forceinline__ u32 barrier(int slot) const { return shared + C.barriers_offset + 8 * slot; }

  __device__ __forceinline__ void initialise() const {
    for (int s = 0; s < C.stages; ++s) {
      barrier_init(barrier(q_full + s), 1);
      barrier_init(barrier(q_empty + s), readers);
    }
    for (int s = 0; s < C.o_stages; ++s) {
      barrier_init(barrier(do_full + s), 1);
      barrier_init(barrier(do_empty + s), readers);
    }
    for (int s = 0; s < C.s_stages; ++s) {
      barrier_init(barrier(ds_full + s), own);
      barrier_init(barrier(ds_empty + s), own);
    }
    barrier_init(barrier(added), own);
    barrier_init(barrier(k_full), 1);
    barrier_init(barrier(v_full), 1);
    if constexpr (C.by_gradient) {
      barrier_init(barrier(p_full), 4);
      barrier_init(barrier(p_empty), 4);
    }
    barrier_init_fence();
  }
  /// Arrives at a buffer's barrier, once for the warp, after it has read or written the buffer.
  __device__ __forceinline__ void release(int slot) const {
    if (threadIdx.x % warp_threads == 0) barrier_arrive(barrier(slot));
  }

  __device__ __forceinline__ KeyTile key_tile() const {
    KeyTile tile = find_key_tile<C.q, C.x, C.mask, C.packed>(arguments.shape, static_cast<int>(blockIdx.x));
    if constexpr (C.dq == SumOrder::ordered) tile.start = tile.first;  // a block's turn comes after the block before
    return tile;
  }
  __device__ __forceinline__ long long scratch(const KeyTile& tile, int in_group, int q_tile) const {
    return scratch_tile<C.q, C.packed>(arguments.shape, tile, in_group, q_tile);
  }

  __device__ __forceinline__ u32 k_place() const { return shared + C.k_offset; }
  __device__ __forceinline__ u32 v_place() const { return shared + C.v_offset; }
  __device__ __forceinline__ u32 q_place(u32 stage) const { return shared + C.q_offset + stage * q_bytes; }
  __device__ __forceinline__ u32 do_place(u32 stage) const { return shared + C.do_offset + stage * do_bytes; }
  __device__ __forceinline__ u32 lse_place(u32 stage) const { return shared + C.lse_offset + stage * row_bytes; }
  __device__ __forceinline__ u32 delta_place(u32 stage) const { return shared + C.delta_offset + stage * row_bytes; }
  __device__ __forceinline__ u32 ds_place(u32 copy) const { return shared + C.ds_offset + copy * ds_bytes; }
};

}  // namespace napkin
