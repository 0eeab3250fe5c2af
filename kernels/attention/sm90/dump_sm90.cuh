#pragma once
// AttentionDumper is attention_sm90's debug variant: each consumer warp writes the S, P, O and softmax state that it
// has just computed, by tile and chunk, in the layout of attention/common/dump.cuh. In all other variants these
// functions are empty.

#include "kernels/attention/common/dump.cuh"
#include "kernels/attention/sm90/epilogue_sm90.cuh"

namespace napkin {

template <AttentionConfig C>
struct AttentionDumper : AttentionEpilogue<C> {
  using Block = AttentionBlock<C>;
  using Block::arguments, Block::rows;
  using RowState = typename AttentionSoftmax<C>::RowState;

  static __device__ constexpr AttentionDump at() { return attention_dump(C.x, C.dv); }

  /// Returns the number of chunks of an axis, which is also the place of values made after the last chunk.
  __device__ __forceinline__ int chunks() const { return (arguments.shape.x + C.x - 1) / C.x; }

  /// Returns the place in the dump of this warp's 16 rows of chunk n.
  __device__ __forceinline__ float* dump_place(const Tile& tile, int n) const {
    const DumpLayout layout{rows * Block::row_parts, at().pitch, chunks()};
    const int row = static_cast<int>(Block::row_part()) * rows + threadIdx.x % warpgroup_threads / warp_threads * 16;
    return arguments.dump + tile_number<C.q, C.g>(arguments.shape, tile) * layout.tile_size() +
           n * layout.chunk_size() + row * at().pitch;
  }

  __device__ __forceinline__ void dump_scores(const Tile& tile, int n, const typename Block::Scores& s) const {
    if constexpr (C.dump) {
      write_fragment<Block::scores>(dump_place(tile, n) + at().s, at().pitch, [&](int i) { return s[i]; });
    }
  }

  /// Writes P as it is multiplied, and the state after this chunk.
  __device__ __forceinline__ void dump_softmax(const Tile& tile, int n, const typename Block::Probabilities& p,
                                               const RowState& state) const {
    if constexpr (C.dump) {
      float* to = dump_place(tile, n);
      write_fragment<Block::scores>(to + at().p, at().pitch,
                                    [&](int i) { return unpack<C.bf16>(p[i / 2], i % 2 != 0); });
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float z = quad_sum(state.sum[r]);
        float* row = to + (threadIdx.x % warp_threads / 4 + 8 * r) * at().pitch;
        if (threadIdx.x % 4 != 0) continue;
        row[at().mu] = state.maximum[r] * arguments.scale;
        row[at().delta] = state.delta[r];
        row[at().z] = z;
      }
    }
  }

  /// Writes the finished O, in the place after the last chunk.
  __device__ __forceinline__ void dump_outputs(const Tile& tile, int n, const typename Block::Outputs& o) const {
    if constexpr (C.dump) {
      write_fragment<Block::outputs>(dump_place(tile, n) + at().o + Block::first_column(), at().pitch,
                                     [&](int i) { return o[i]; });
    }
  }
};

}  // namespace napkin
