#pragma once
// AttentionSm80Products is attention_sm80's arithmetic: one warp's S = Q K by mma.sync, the mask, the online softmax
// and O += P V. Exponentials of later columns are issued between the products of earlier ones.

#include "kernels/attention/sm80/block_sm80.cuh"
#include "kernels/device/infinity.cuh"
#include "kernels/device/mma.cuh"
#include "kernels/device/softmax.cuh"

namespace napkin {

template <AttentionSm80Config C>
struct AttentionSm80Products : AttentionSm80Block<C> {
  using Block = AttentionSm80Block<C>;
  using Block::arguments, Block::tile, Block::shared, Block::warp_rows;
  using Block::Block;
  using Block::steps, Block::columns, Block::inner, Block::outer, Block::k_bytes, Block::v_bytes;
  using typename Block::QRows, typename Block::KRows, typename Block::VRows;
  using typename Block::Scores, typename Block::Outputs, typename Block::QFragments, typename Block::Rows;

  /// Returns the first address that a lane gives to ldmatrix, for Q and V: rows 0-7 and 8-15 of the first 8 columns,
  /// then of the next 8. Computed again for each chunk, since a kept one would take registers that the accumulators
  /// need.
  template <class R>
  __device__ __forceinline__ u32 rows_first(u32 offset) const {
    const u32 lane = lane_id();
    return shared + offset + R::at(matrix_row(lane), lane / 16);
  }
  /// Returns that address for K: 8 rows with both their units, then the next 8 rows.
  __device__ __forceinline__ u32 units_first(u32 offset) const {
    const u32 lane = lane_id();
    return shared + offset + KRows::at(lane % 8 + lane / 16 * 8, lane / 8 % 2);
  }

  __device__ __forceinline__ u32 q_rows() const { return rows_first<QRows>(C.q_offset + warp_rows() * QRows::pitch); }
  __device__ __forceinline__ void load_q_fragments(u32 (&q)[steps][4], u32 q_lane, int k16) const {
#pragma unroll
    for (int m = 0; m < steps; ++m) load_matrices(q[m], QRows::along(q_lane, 2 * k16) + m * 16 * QRows::pitch);
  }

  /// Computes S = Q K. The assembler moves loads ahead of products as far as registers suffice.
  __device__ __forceinline__ void scores(Scores& s, const QFragments& kept, int chunk) const {
    const u32 base = units_first(C.k_offset + chunk % C.stages * k_bytes), q_lane = C.q_registers ? 0 : q_rows();
#pragma unroll
    for (int m = 0; m < steps; ++m) {
#pragma unroll
      for (int i = 0; i < C.x / 8; ++i) {
#pragma unroll
        for (int e = 0; e < 4; ++e) s[m][i][e] = 0;
      }
    }
#pragma unroll
    for (int k16 = 0; k16 < inner; ++k16) {
      u32 q[steps][4];
      if constexpr (!C.q_registers) load_q_fragments(q, q_lane, k16);
#pragma unroll
      for (int n = 0; n < columns; ++n) {
        u32 b[4];
        load_matrices(b, KRows::along(base, 2 * k16) + n * 16 * KRows::pitch);
#pragma unroll
        for (int m = 0; m < steps; ++m) {
          const u32* a = C.q_registers ? kept[C.q_registers ? k16 : 0][m] : q[m];
          mma<C.bf16>(s[m][2 * n], a, b[0], b[1]);
          mma<C.bf16>(s[m][2 * n + 1], a, b[2], b[3]);
        }
      }
    }
  }

  /// Replaces the i-th of this thread's scores in 16 columns by exp(scale s) over 2^shift, and adds it to its row's
  /// sum.
  __device__ __forceinline__ void exponential(Scores& s, Rows& rows, int k16, int i) const {
    const int m = i % steps, e = i / steps;
    float& value = s[m][2 * k16 + e / 4][e % 4];
    value = exp2_fast(value * arguments.scale_log2 - rows.shift[m][e / 2 % 2]);
    rows.sum[m][e / 2 % 2] += value;
  }

  /// Computes O += P V. The exponentials of the next 16 columns are spread over these columns' products: they fill
  /// issue slots that the tensor cores leave free.
  __device__ __forceinline__ void outputs(Outputs& o, Scores& s, Rows& rows, int chunk) const {
    constexpr int batch = 8 * steps;
    const u32 base = rows_first<VRows>(C.v_offset + chunk % C.stages * v_bytes);
#pragma unroll
    for (int i = 0; i < batch; ++i) exponential(s, rows, 0, i);
#pragma unroll
    for (int k16 = 0; k16 < columns; ++k16) {
      u32 p[steps][4];
#pragma unroll
      for (int m = 0; m < steps; ++m) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          p[m][i] = pack<C.bf16>(s[m][2 * k16 + i / 2][i % 2 * 2], s[m][2 * k16 + i / 2][i % 2 * 2 + 1]);
        }
      }
#pragma unroll
      for (int n = 0; n < outer; ++n) {
        u32 b[4];
        load_matrices_transposed(b, VRows::along(base, 2 * n) + k16 * 16 * VRows::pitch);
#pragma unroll
        for (int m = 0; m < steps; ++m) {
          mma<C.bf16>(o[m][2 * n], p[m], b[0], b[1]);
          mma<C.bf16>(o[m][2 * n + 1], p[m], b[2], b[3]);
        }
        if (k16 + 1 < columns) {
#pragma unroll
          for (int i = n * batch / outer; i < (n + 1) * batch / outer; ++i) exponential(s, rows, k16 + 1, i);
        }
      }
    }
  }

  // ---- softmax ------------------------------------------------------------------------------------------------------

  /// Returns this thread's r-th row of its m-th step: tiles have rows of one head.
  __device__ __forceinline__ TileRow own_row(int m, int r) const {
    return row_of<1>(arguments.shape, tile, warp_rows() + m * 16 + lane_id() / 4 + r * 8);
  }

  __device__ __forceinline__ void apply_mask(Scores& s, int n) const {
    int own = n * C.x + static_cast<int>(lane_id() % 4) * 2, top = own_row(0, 0).query;
    // The empty statement hides the value from the compiler, which would else keep each row's limits in registers until
    // the next masked chunk.
    asm volatile("" : "+r"(top));
#pragma unroll
    for (int m = 0; m < steps; ++m) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const Span seen = seen_by<C.mask>(arguments.shape, tile, top + m * 16 + r * 8);
        const int first = seen.first - own, last = seen.last - own;
#pragma unroll
        for (int i = 0; i < C.x / 8; ++i) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            if (8 * i + e >= last || (C.mask == MaskKind::window && 8 * i + e < first)) s[m][i][2 * r + e] = -infinity;
          }
        }
      }
    }
  }

  /// Raises the shifts to the new maxima, and rescales O and the sums. (online softmax) A shift may lag behind its
  /// maximum while the exponentials stay within 2^8: in the end O is divided by the sum.
  __device__ __forceinline__ void advance(const Scores& s, Outputs& o, Rows& rows) const {
    float maximum[steps][2];
    bool outgrown = false;
#pragma unroll
    for (int m = 0; m < steps; ++m) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float high = s[m][0][2 * r];
#pragma unroll
        for (int i = 0; i < C.x / 8; ++i) high = fmaxf(high, fmaxf(s[m][i][2 * r], s[m][i][2 * r + 1]));
        maximum[m][r] = high * arguments.scale_log2;
        outgrown |= maximum[m][r] > rows.shift[m][r] + 8;
      }
    }
    if (C.rescale_rarely && !__any_sync(0xffffffffu, outgrown)) return;
#pragma unroll
    for (int m = 0; m < steps; ++m) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float next = fmaxf(quad_max(maximum[m][r]), rows.shift[m][r]);
        const float delta = exp2_fast(rows.shift[m][r] - next);
        rows.shift[m][r] = next;
        rows.sum[m][r] *= delta;
#pragma unroll
        for (int i = 0; i < C.dv / 8; ++i) {
          o[m][i][2 * r] *= delta;
          o[m][i][2 * r + 1] *= delta;
        }
      }
    }
  }
};

}  // namespace napkin
