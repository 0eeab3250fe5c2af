#pragma once
// NapkinRows has the work of a thread of napkin_fp8_sm90 on its row: it turns scores in shared memory into P, and adds
// products of P and V to O. Example: a thread reads the scores of a subloop's 64 keys, 128 bytes, finds their maximum
// without other threads, and writes 64 exponentials in place of the scores.

#include "kernels/attention/napkin/block_napkin.cuh"
#include "kernels/device/halves.cuh"
#include "kernels/device/infinity.cuh"

namespace napkin {

template <NapkinConfig N>
struct NapkinRows : NapkinBlock<N> {
  using Block = NapkinBlock<N>;
  using Block::C, Block::rows, Block::arguments;

  static constexpr int pairs = N.u_x / 2;                     // pairs of a subloop's scores
  static constexpr int outputs = N.single ? C.dv : C.dv / 2;  // registers of O'
  static constexpr int output_columns = N.single ? 4 : 8;     // columns in 16 bytes of dO
  using Outputs = u32[outputs];                               // fp16 in pairs, or fp32

  /// State of a row. `shift` is the maximum times scale_log2, rounded to fp16: P = 2^(score scale_log2 - shift).
  struct RowState {
    float shift, sum, delta;
  };

  /// Returns the row of this thread among its warpgroup's 128. Half of a warp's threads have the warp's 16 rows of the
  /// first product, half those of the second.
  static __device__ __forceinline__ u32 own_row() {
    const u32 lane = threadIdx.x % warp_threads;
    return warp_row() + lane % 16 + lane / 16 * Block::product_rows;
  }

  /// Returns the address of a row's `unit`-th unit of 16 bytes from that of its first, in a matrix of that span.
  template <int Span>
  static __device__ __forceinline__ u32 unit_address(u32 first, int unit) {
    return (first ^ (unit % (Span / 8) * 16)) + unit / (Span / 8) * (rows * Span * 2);
  }

  __device__ __forceinline__ u32 own_scores() const {
    return Block::p_place() + swizzled<rows, Block::x_span>(own_row(), 0);
  }
  __device__ __forceinline__ u32 own_partial() const {
    return Block::partial_place() + swizzled<rows, Block::partial_span>(own_row(), 0);
  }

  /// Returns the query of this thread's row, and whether it exists.
  __device__ __forceinline__ TileRow owned(const Tile& tile) const {
    return row_of<1>(arguments.shape, tile, this->wg * rows + own_row());
  }

  /// Sets scores that the mask hides to -infinity, among the subloop's keys from `first_key` on.
  __device__ __forceinline__ void hide(u32 (&p)[pairs], const Tile& tile, int first_key) const {
    const Span seen = seen_by<C.mask>(arguments.shape, tile, owned(tile).query);
    const int first = seen.first - first_key, last = seen.last - first_key;
#pragma unroll
    for (int i = 0; i < pairs; ++i) {
      if (2 * i >= last || 2 * i < first) p[i] = (p[i] & 0xFFFF0000u) | (hidden_halves & 0xFFFFu);
      if (2 * i + 1 >= last || 2 * i + 1 < first) p[i] = (p[i] & 0xFFFFu) | (hidden_halves & 0xFFFF0000u);
    }
  }

  /// Returns the largest of a row's fp16 values.
  static __device__ __forceinline__ float largest(const u32 (&p)[pairs]) {
    u32 most[2] = {p[0], p[1]};
#pragma unroll
    for (int i = 2; i < pairs; ++i) most[i % 2] = largest_halves(most[i % 2], p[i]);
    const u32 pair = largest_halves(most[0], most[1]);
    return fmaxf(unpack<false>(pair, false), unpack<false>(pair, true));
  }
  /// Returns the sum of a row's fp16 values: four chains of pairs in fp16, whose results are added in fp32.
  static __device__ __forceinline__ float total(const u32 (&p)[pairs]) {
    constexpr int chains = 4;
    u32 sum[chains] = {p[0], p[1], p[2], p[3]};
    float out = 0;
#pragma unroll
    for (int i = chains; i < pairs; ++i) sum[i % chains] = add_halves(sum[i % chains], p[i]);
#pragma unroll
    for (int i = 0; i < chains; ++i) out += unpack<false>(sum[i], false) + unpack<false>(sum[i], true);
    return out;
  }

  /// Turns the `loop`-th subloop's scores into P = 2^(score c - shift), in place; `hidden`: the mask cuts the chunk.
  __device__ __forceinline__ void exponentials(RowState& state, const Tile& tile, int first_key, int loop,
                                               bool hidden) const {
    const u32 first = own_scores();
    const int unit = loop * (N.u_x / 8);
    u32 p[pairs];
#pragma unroll
    for (int i = 0; i < pairs / 4; ++i) {
      const Quad quad = load_quad(unit_address<Block::x_span>(first, unit + i));
#pragma unroll
      for (int w = 0; w < 4; ++w) p[4 * i + w] = quad.word[w];
    }
    if (hidden) hide(p, tile, first_key + loop * N.u_x);
    const u32 factor = both_halves(arguments.scale_log2);
    const u32 wanted = both_halves(largest(p) * unpack<false>(factor, false));
    const float before = state.shift;
    state.shift = fmaxf(before, unpack<false>(wanted, false));
    const float shift = state.shift == -infinity ? 0.f : state.shift;
    state.delta = exp2_fast(before - shift);
    const u32 less = both_halves(-shift);
#pragma unroll
    for (int i = 0; i < pairs; ++i) p[i] = exp2_halves(multiply_add_halves(p[i], factor, less));
#pragma unroll
    for (int i = 0; i < pairs / 4; ++i)
      store_quad(unit_address<Block::x_span>(first, unit + i), p[4 * i], p[4 * i + 1], p[4 * i + 2], p[4 * i + 3]);
    state.sum = state.sum * state.delta + total(p);
  }

  /// Computes O' = delta O' + dO' of this row, for the `block`-th columns.
  __device__ __forceinline__ void accumulate(Outputs& o, float delta, int block) const {
    constexpr int units = N.d_step / output_columns, steps = N.d_block / N.d_step;
    const u32 first = own_partial(), factor = both_halves(delta);
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      Quad quads[units];
#pragma unroll
      for (int i = 0; i < units; ++i) quads[i] = load_quad(unit_address<Block::partial_span>(first, step * units + i));
#pragma unroll
      for (int i = 0; i < 4 * units; ++i) {
        u32& to = o[(block * steps + step) * 4 * units + i];
        const u32 more = quads[i / 4].word[i % 4];
        if constexpr (N.single) {
          to = __float_as_uint(__uint_as_float(to) * delta + __uint_as_float(more));
        } else {
          to = multiply_add_halves(to, factor, more);
        }
      }
    }
  }

  /// Stores O / z to device memory, and the log-sum-exp; a row that saw no key gives 0 and -infinity.
  __device__ __forceinline__ void finish(const Outputs& o, const RowState& state, const Tile& tile) const {
    constexpr float ln2 = 0.69314718055994531f;
    const TileRow own = owned(tile);
    if (!own.exists) return;
    const float inverse = state.sum > 0 ? 1.f / state.sum : 0.f;
    if (arguments.lse != nullptr)
      arguments.lse[lse_index<C.packed>(arguments.shape, tile, own)] =
          state.sum > 0 ? state.shift * ln2 + __logf(state.sum) : -infinity;
    auto* to = reinterpret_cast<uint4*>(
        static_cast<unsigned short*>(arguments.o) +
        (tile.map_batch * arguments.o_batch + (tile.q_start + own.query) * arguments.o_row +
         (static_cast<long long>(tile.head) * arguments.shape.g + own.head) * arguments.o_head));
    const auto pair = [&](int i) {
      if constexpr (N.single)
        return pack<false>(__uint_as_float(o[2 * i]) * inverse, __uint_as_float(o[2 * i + 1]) * inverse);
      else
        return pack<false>(unpack<false>(o[i], false) * inverse, unpack<false>(o[i], true) * inverse);
    };
#pragma unroll
    for (int i = 0; i < C.dv / 8; ++i) to[i] = uint4{pair(4 * i), pair(4 * i + 1), pair(4 * i + 2), pair(4 * i + 3)};
  }
};

}  // namespace napkin
