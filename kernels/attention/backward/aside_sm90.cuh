#pragma once
// BackwardAside is the work of the three warps of attention_backward_sm90's producer warpgroup that load nothing: they
// set the sums of dQ of a later section to zero, and round those of a section whose blocks have all added. Launches
// before and after would move these bytes while the tensor cores are idle.

#include "kernels/attention/backward/rows_sm90.cuh"
#include "kernels/device/turn.cuh"

namespace napkin {

template <AttentionBackwardConfig C>
struct BackwardAside : BackwardBlock<C> {
  using Block = BackwardBlock<C>;
  using Block::arguments, Block::barrier;
  static constexpr u32 warps = Block::aside_warps, halves = 8 * GradientOfQueries<C>::parts;

  /// Calls apply(tile, number) for the i-th tile of queries of a section, where `number` is the tile's place in the
  /// scratch memory. Skips a tile that begins after its sequence's end.
  template <class Apply>
  __device__ __forceinline__ void at_tile(int section, int i, Apply apply) const {
    const int index = section * arguments.shape.section_tiles + i;
    const QueryTile tile = find_query_tile<C.packed>(arguments.shape, index);
    if constexpr (!C.packed) {
      apply(tile, index);
    } else if (tile.number * C.q < tile.queries) {
      apply(tile, scratch_tile<C.q, C.packed>(arguments.shape, tile, tile.in_group, tile.number));
    }
  }

  /// Zeroes this block's share of a later section: every `asides`-th tile of queries.
  __device__ __forceinline__ void zero(int section, int rank) const {
    const AttentionBackwardShape& shape = arguments.shape;
#pragma unroll 1
    for (int i = rank; i < shape.section_tiles; i += shape.asides) {
      at_tile(section, i, [&](const QueryTile&, long long number) {
        zero_tile<C>(arguments, number, static_cast<int>(threadIdx.x - warp_threads), warps * warp_threads);
      });
    }
    __syncwarp();
    if (threadIdx.x % warp_threads == 0) end_turn(arguments.zeroed + section);
  }

  /// Scales and rounds this block's share of an earlier section's dQ, once all blocks of that section have added. A
  /// warp does every `asides * warps`-th half part of a tile.
  __device__ __forceinline__ void convert(int section, int rank, u32 warp) const {
    const AttentionBackwardShape& shape = arguments.shape;
    if (threadIdx.x % warp_threads == 0) await_count(arguments.added + section, shape.section.value);
    __syncwarp();
    const u32 all = shape.section_tiles * halves;
#pragma unroll 1
    for (u32 half = rank * warps + warp; half < all; half += shape.asides * warps) {
      at_tile(section, static_cast<int>(half / halves), [&](const QueryTile& tile, long long number) {
        convert_half<C, 1>(arguments, tile, number, half % halves);
      });
    }
  }

  __device__ __forceinline__ void work() const {
    const AttentionBackwardShape& shape = arguments.shape;
    if (shape.ahead >= shape.sections) return;
    const u32 warp = threadIdx.x / warp_threads - 1;
    int rank;
    const int section = divide(static_cast<int>(blockIdx.x), shape.section, rank);
    if (rank < shape.asides) {
      if (section + shape.ahead < shape.sections) zero(section + shape.ahead, rank);
      if (section >= shape.ahead) convert(section - shape.ahead, rank, warp);
    }
    if (threadIdx.x == warp_threads) {
      barrier_wait(barrier(Block::added), 0);
      end_turn(arguments.added + section);
    }
  }
};

}  // namespace napkin
