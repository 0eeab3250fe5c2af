#pragma once
// AttentionSm80Epilogue writes attention_sm80's results, and the intermediates of its debug variant: a warp divides its
// O by the softmax's sums, writes the log-sum-exp and stores O through shared memory in whole sectors; if C.dump is
// true it writes intermediates, too.

#include "kernels/attention/common/dump.cuh"
#include "kernels/attention/sm80/products_sm80.cuh"

namespace napkin {

template <AttentionSm80Config C>
struct AttentionSm80Epilogue : AttentionSm80Products<C> {
  using Block = AttentionSm80Block<C>;
  using Products = AttentionSm80Products<C>;
  using Block::steps, Block::arguments, Block::tile, Block::shared, Block::warp_rows, Block::first_shift;
  using Products::own_row;
  using Products::Products;
  using typename Block::Element, typename Block::VRows;
  using typename Block::Scores, typename Block::Outputs, typename Block::Rows;

  /// Divides O by its rows' sums and writes the log-sum-exp; a row that saw no key gives 0 and -infinity.
  __device__ __forceinline__ void finish(Outputs& o, const Rows& rows) const {
#pragma unroll
    for (int m = 0; m < steps; ++m) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float z = quad_sum(rows.sum[m][r]), inverse = z > 0 ? 1.f / z : 0.f;
#pragma unroll
        for (int i = 0; i < C.dv / 8; ++i) {
          o[m][i][2 * r] *= inverse;
          o[m][i][2 * r + 1] *= inverse;
        }
        const TileRow own = own_row(m, r);
        if (lane_id() % 4 == 0 && own.exists && arguments.lse != nullptr) {
          arguments.lse[lse_index<C.packed>(arguments.shape, tile, own)] =
              z > 0 ? rows.shift[m][r] * 0.69314718f + __logf(z) : -infinity;
        }
      }
    }
  }

  /// Stores O through shared memory, each warp its own rows, so that device memory is written in whole sectors.
  __device__ __forceinline__ void store(const Outputs& o) const {
    // Other warps may still read their rows of Q, or V, in these places.
    if constexpr (C.q_registers || C.d != C.dv) {
      __syncthreads();
    } else {
      __syncwarp();
    }
    const u32 base = shared + C.o_offset, first = warp_rows(), lane = lane_id();
#pragma unroll
    for (int m = 0; m < steps; ++m) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
#pragma unroll
        for (int i = 0; i < C.dv / 8; ++i) {
          store_word(base + VRows::at(first + m * 16 + lane / 4 + r * 8, i) + lane % 4 * 4,
                     pack<C.bf16>(o[m][i][2 * r], o[m][i][2 * r + 1]));
        }
      }
    }
    __syncwarp();
    const Strides& strides = arguments.o_strides;
    const int head = tile.head * arguments.shape.g + tile.packed_head;
    Element* to = static_cast<Element*>(arguments.o) + tile.map_batch * strides.batch + head * strides.head +
                  static_cast<long long>(tile.q_row) * strides.row;
    constexpr u32 units = C.dv / 8;
#pragma unroll 4
    for (u32 i = lane; i < 16 * steps * units; i += 32) {
      const u32 row = first + i / units, unit = i % units;
      const bool inside = !C.padded || static_cast<int>(unit * 8) < arguments.shape.dv;
      if (inside && row_of<1>(arguments.shape, tile, row).exists) {
        *reinterpret_cast<Quad*>(to + row * strides.row + unit * 8) = load_quad(base + VRows::at(row, unit));
      }
    }
  }

  // ---- debug variant: intermediates of every tile and chunk ---------------------------------------------------------

  static __device__ constexpr AttentionDump at() { return attention_dump(C.x, C.dv); }

  __device__ __forceinline__ int chunks() const { return (arguments.shape.x + C.x - 1) / C.x; }

  /// Returns the place in the dump of this warp's m-th 16 rows of chunk n.
  __device__ __forceinline__ float* noted(int n, int m) const {
    const DumpLayout layout{C.q, at().pitch, chunks()};
    const int row = static_cast<int>(warp_rows()) + m * 16;
    return arguments.dump + tile_number<C.q, 1>(arguments.shape, tile) * layout.tile_size() + n * layout.chunk_size() +
           row * at().pitch;
  }

  __device__ __forceinline__ void note_scores(int n, const Scores& s) const {
    if constexpr (C.dump) {
#pragma unroll
      for (int m = 0; m < steps; ++m) {
        write_fragment<C.x / 2>(noted(n, m) + at().s, at().pitch, [&](int i) { return s[m][i / 4][i % 4]; });
      }
    }
  }

  /// Writes the finished O, in the place after the last chunk.
  __device__ __forceinline__ void note_outputs(int n, const Outputs& o) const {
    if constexpr (C.dump) {
#pragma unroll
      for (int m = 0; m < steps; ++m) {
        write_fragment<C.dv / 2>(noted(n, m) + at().o, at().pitch, [&](int i) { return o[m][i / 4][i % 4]; });
      }
    }
  }

  /// Writes P as it is multiplied, the state after this chunk, and O. The shift is written as mu; the first shift,
  /// before any score, as -infinity.
  __device__ __forceinline__ void note_chunk(int n, const Scores& s, const Rows& before, const Rows& rows,
                                             const Outputs& o) const {
    if constexpr (C.dump) {
      note_outputs(n, o);
#pragma unroll
      for (int m = 0; m < steps; ++m) {
        float* to = noted(n, m);
        write_fragment<C.x / 2>(to + at().p, at().pitch,
                                [&](int i) { return unpack<C.bf16>(pack<C.bf16>(s[m][i / 4][i % 4], 0), false); });
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const float z = quad_sum(rows.sum[m][r]), earlier = before.shift[m][r], now = rows.shift[m][r];
          float* row = to + (threadIdx.x % warp_threads / 4 + 8 * r) * at().pitch;
          if (threadIdx.x % 4 != 0) continue;
          row[at().mu] = now == first_shift() ? -infinity : now * 0.69314718f;
          row[at().delta] = earlier == first_shift() ? 0 : exp2_fast(earlier - now);
          row[at().z] = z;
        }
      }
    }
  }
};

}  // namespace napkin
