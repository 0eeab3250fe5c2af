#pragma once
// DecodeCombiner writes attention_decode_sm90's results. A tile's only part is the result. Of several parts each goes
// to device memory, and the last block to finish weights and adds them, always in the order of the parts (eq. 19.2).

#include "kernels/attention/decode/part_decode.cuh"
#include "kernels/attention/sm90/attention_sm90.cuh"
#include "kernels/device/global.cuh"

namespace napkin {

template <AttentionConfig C>
struct DecodeCombiner : AttentionConsumer<C> {
  const AttentionDecodeArguments& decode;

  using Block = AttentionBlock<C>;
  using Block::arguments, Block::outputs, Block::barrier;
  using typename Block::Outputs;
  using RowState = typename AttentionSoftmax<C>::RowState;
  static constexpr u32 threads = C.warpgroups * warpgroup_threads;
  static constexpr float log2e = 1.4426950408889634f;

  /// Returns this thread's number among the consumers' threads.
  __device__ __forceinline__ u32 own_thread() const { return Block::wg * warpgroup_threads + warpgroup_thread(); }
  __device__ __forceinline__ void consumers_sync() const { named_sync(NamedBarrier::all, 0, threads); }

  /// Returns the number of O's columns.
  __device__ __forceinline__ int width() const { return C.padded ? arguments.shape.dv : C.dv; }

  /// Stores a row of this thread, times `inverse`, one over its sum: 0 where it saw no key.
  __device__ __forceinline__ void store_row(const DecodePart& at, const Outputs& o, int r, float inverse,
                                            float lse) const {
    const u32 lane = threadIdx.x % warp_threads;
    const TileRow row = Block::row_of(at.tile, Block::thread_row(lane) + 8 * r);
    if (!row.exists) return;
    const long long place = lse_index<false>(arguments.shape, at.tile, row);
    if (at.parts() == 1) {
      u32* to = reinterpret_cast<u32*>(Block::output_row(at.tile, row));
#pragma unroll
      for (int i = 0; i < outputs / 4; ++i) {
        if (Block::has_columns(i))
          to[4 * i + lane % 4] =
              pack<C.bf16>(o[fragment_index(i, r, 0)] * inverse, o[fragment_index(i, r, 1)] * inverse);
      }
      if (lane % 4 == 0 && arguments.lse != nullptr) arguments.lse[place] = lse;
      return;
    }
    const long long part = place * decode.parts.value + at.part;
    FloatPair* to = reinterpret_cast<FloatPair*>(decode.part_o + part * width());
#pragma unroll
    for (int i = 0; i < outputs / 4; ++i) {
      if (Block::has_columns(i))
        to[4 * i + lane % 4] = {o[fragment_index(i, r, 0)] * inverse, o[fragment_index(i, r, 1)] * inverse};
    }
    if (lane % 4 == 0) decode.part_lse[part] = lse;
  }

  __device__ __forceinline__ void store_part(const DecodePart& at, const Outputs& o, const RowState& state) const {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float z = quad_sum(state.sum[r]);
      store_row(at, o, r, z > 0 ? 1.f / z : 0.f, z > 0 ? state.maximum[r] * arguments.scale + __logf(z) : -infinity);
    }
  }

  /// Returns true if all other parts of the tile are complete; the last block sets the counter to zero for the next
  /// launch.
  __device__ __forceinline__ bool comes_last(const DecodePart& at) const {
    __threadfence();
    consumers_sync();
    if (own_thread() == 0) {
      const bool last = atomicAdd(decode.arrived + at.number, 1) == at.parts() - 1;
      if (last) decode.arrived[at.number] = 0;
      post(barrier(Block::mailbox), last);
    }
    consumers_sync();
    __threadfence();
    return read(barrier(Block::mailbox)) != 0;
  }

  /// Sum over parts of four columns of one row.
  struct RowSum {
    float top = -infinity, sum = 0, total[4] = {0, 0, 0, 0};  // weights are relative to the largest log-sum-exp, `top`
  };

  /// Adds a number of parts, all of whose loads are issued before the first is used; parts after the last one weigh 0.
  template <int Parts>
  __device__ __forceinline__ void add_parts(RowSum& row, const float* lse, const float* o, int left) const {
    float own[Parts];
    FloatQuad part[Parts];
#pragma unroll
    for (int p = 0; p < Parts; ++p) {
      const int at = min(p, left - 1);
      own[p] = load_from_others(lse + at);
      part[p] = load_quad_from_others(o + static_cast<long long>(at) * width());
      if (p >= left) own[p] = -infinity;
    }
    const float before = row.top;
#pragma unroll
    for (int p = 0; p < Parts; ++p) row.top = fmaxf(row.top, own[p]);
    const float shift = row.top == -infinity ? 0.f : row.top * log2e, kept = exp2_fast(before * log2e - shift);
    row.sum *= kept;
#pragma unroll
    for (float& column : row.total) column *= kept;
#pragma unroll
    for (int p = 0; p < Parts; ++p) {
      const float weight = exp2_fast(own[p] * log2e - shift);
      row.sum += weight;
#pragma unroll
      for (int i = 0; i < 4; ++i) row.total[i] += weight * part[p].value[i];
    }
  }

  /// Parts that are loaded at a time: sixteen, or eight if there are no more, since places beyond the last part load a
  /// part again.
  static constexpr int few = 8, many = 16;

  __device__ __forceinline__ void combine_row(const DecodePart& at, const TileRow& own, int column) const {
    const long long place = lse_index<false>(arguments.shape, at.tile, own),
                    first = place * decode.parts.value + at.first_part;
    const float *lse = decode.part_lse + first, *o = decode.part_o + first * width() + column;
    RowSum row;
    if (at.parts() <= few) {
      add_parts<few>(row, lse, o, at.parts());
    } else {
#pragma unroll 1
      for (int p = 0; p < at.parts(); p += many)
        add_parts<many>(row, lse + p, o + static_cast<long long>(p) * width(), at.parts() - p);
    }
    const float inverse = row.sum > 0 ? 1.f / row.sum : 0.f;
    u32* to = reinterpret_cast<u32*>(Block::output_row(at.tile, own) + column);
    to[0] = pack<C.bf16>(row.total[0] * inverse, row.total[1] * inverse);
    to[1] = pack<C.bf16>(row.total[2] * inverse, row.total[3] * inverse);
    if (column == 0 && arguments.lse != nullptr)
      arguments.lse[place] = row.sum > 0 ? row.top + __logf(row.sum) : -infinity;
  }

  __device__ __forceinline__ void combine(const DecodePart& at) const {
    const int quads = width() / 4;
    const int rows = min(C.q, at.tile.queries - at.tile.q_first) * C.g;
#pragma unroll 1
    for (int i = static_cast<int>(own_thread()); i < rows * quads; i += threads) {
      const TileRow own = Block::row_of(at.tile, i / quads);
      if (own.exists) combine_row(at, own, i % quads * 4);
    }
  }
};

}  // namespace napkin
