#pragma once
// BackwardGradients has attention_backward_sm90's work on registers: it makes P and dS of a tile from scores and dP,
// adds dQ to the sums in device memory, and stores dK and dV.

#include "kernels/attention/backward/products_sm90.cuh"
#include "kernels/device/bulk.cuh"
#include "kernels/device/infinity.cuh"
#include "kernels/device/quad.cuh"
#include "kernels/device/softmax.cuh"
#include "kernels/device/turn.cuh"

namespace napkin {

template <AttentionBackwardConfig C>
struct BackwardGradients : BackwardProducts<C> {
  using Block = BackwardBlock<C>;
  using Block::arguments, Block::rows, Block::wg;
  using typename Block::Scores, typename Block::Halves, typename Block::Dq;

  /// Returns the key of this block's tile that a lane's first accumulator belongs to.
  __device__ __forceinline__ u32 thread_key(u32 lane) const { return wg * rows + warp_row() + fragment_row(lane, 0); }

  /// Sets scores to -infinity that the mask hides or that lie after the last key.
  __device__ __forceinline__ void hide(Scores& s, const KeyTile& tile, int q_tile) const {
    const u32 lane = threadIdx.x % warp_threads;
    const int own = q_tile * C.q + static_cast<int>(fragment_column(lane, 0));
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int key = tile.x_first + static_cast<int>(thread_key(lane)) + 8 * r;
      const Seers seers = seers_of<C.mask>(arguments.shape, tile, key);
      const int first = key < tile.keys ? seers.first - own : C.q, last = seers.last - own;
#pragma unroll
      for (int i = 0; i < C.q / 8; ++i) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          if (8 * i + e < first || (C.mask == MaskKind::window && 8 * i + e > last))
            s[fragment_index(i, r, e)] = -infinity;
        }
      }
    }
  }

  /// Turns scores into P = exp2(scale log2(e) score - log-sum-exp). Rows that see no key, and rows after the last
  /// query, have an infinite log-sum-exp.
  __device__ __forceinline__ void exponentials(Scores& s, Halves& p, u32 stage) const {
    const u32 from = Block::lse_place(stage) + fragment_column(threadIdx.x % warp_threads, 0) * 4;
    const float c = arguments.scale_log2;
#pragma unroll
    for (int i = 0; i < C.q / 8; ++i) {
      const FloatPair lse = load_two(from + 32 * i);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& x = s[fragment_index(i, r, e)];
          x = exp2_fast(x * c - lse.value[e]);
        }
        p[2 * i + r] = pack<C.bf16>(s[fragment_index(i, r, 0)], s[fragment_index(i, r, 1)]);
      }
    }
  }

  /// Computes dS = P (dP - delta), without the scale, which is applied to dK and dQ at their end. Takes P as it was
  /// rounded for its product, since the registers of the scores hold other values by then.
  __device__ __forceinline__ void differences(const Halves& p, const Scores& dp, Halves& ds, u32 stage) const {
    const u32 from = Block::delta_place(stage) + fragment_column(threadIdx.x % warp_threads, 0) * 4;
#pragma unroll
    for (int i = 0; i < C.q / 8; ++i) {
      const FloatPair delta = load_two(from + 32 * i);
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int at = fragment_index(i, r, 0), pair = 2 * i + r;
        ds[pair] = pack<C.bf16>(unpack<C.bf16>(p[pair], false) * (dp[at] - delta.value[0]),
                                unpack<C.bf16>(p[pair], true) * (dp[at + 1] - delta.value[1]));
      }
    }
  }

  /// Waits until dQ's sums are zero: the launch before or earlier blocks set them.
  __device__ __forceinline__ void await_zeros() const {
    const AttentionBackwardShape& shape = arguments.shape;
    int rank;
    const int section = divide(static_cast<int>(blockIdx.x), shape.section, rank);
    if (section >= shape.ahead && threadIdx.x % warp_threads == 0)
      await_count(arguments.zeroed + section, shape.asides * Block::aside_warps);
    __syncwarp();
  }

  /// Adds a warp's part of dQ's tile to the sum in device memory; `number` is the tile's place in the scratch memory.
  __device__ __forceinline__ void add_dq(const float (&dq)[Dq::numbers], const KeyTile& tile, long long number,
                                         int q_tile) const {
    const u32 lane = threadIdx.x % warp_threads, warp = threadIdx.x % warpgroup_threads / warp_threads;
    float* to = arguments.dq_sum + number * Dq::tile_floats + Dq::part(wg, warp);
    const auto four = [&](int c) { return Floats{dq[4 * c], dq[4 * c + 1], dq[4 * c + 2], dq[4 * c + 3]}; };
    if constexpr (C.dq == SumOrder::bulk) {
      const u32 from = Block::shared + C.dq_offset + Dq::part(wg, warp) * 4;
      if (lane == 0) store_wait_read();
      __syncwarp();
#pragma unroll
      for (int c = 0; c < Dq::numbers / 4; ++c) store_four(from + Dq::place(c, lane) * 4, four(c));
      async_fence();
      __syncwarp();
      if (lane == 0) {
        add_floats(to, from, Dq::warp_floats * 4);
        store_commit();
      }
    } else {
      u32* counter = arguments.turns + number * (4 * Dq::parts) + wg * 4 + warp;
      if constexpr (C.dq == SumOrder::ordered) {
        if (lane == 0) await_turn(counter, turn_of<C.q, C.x, C.mask>(arguments.shape, tile, q_tile));
        __syncwarp();
      }
#pragma unroll
      for (int c = 0; c < Dq::numbers / 4; ++c) add_four(to + Dq::place(0, lane) + Dq::place(c, 0), four(c));
      if constexpr (C.dq == SumOrder::ordered) {
        __syncwarp();
        if (lane == 0) end_turn(counter);
      }
    }
  }

  /// Stores dK or dV of this warpgroup's keys, times `factor`, from registers: a lane stores 16 bytes of a row, of
  /// which `width` columns exist.
  template <int D>
  __device__ __forceinline__ void store_rows(const float (&values)[D / 2], const RowsPointer& to, const KeyTile& tile,
                                             float factor, int width) const {
    const u32 lane = threadIdx.x % warp_threads;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int key = tile.x_first + static_cast<int>(thread_key(lane)) + 8 * r;
      uint4* row = reinterpret_cast<uint4*>(static_cast<unsigned short*>(to.first) + tile.map_batch * to.batch +
                                            (tile.x_start + key) * to.row + tile.head * to.head);
#pragma unroll
      for (int i = 0; i < D / 8; i += 4) {
        u32 pairs[4];
#pragma unroll
        for (int j = 0; j < 4; ++j)
          pairs[j] =
              pack<C.bf16>(values[fragment_index(i + j, r, 0)] * factor, values[fragment_index(i + j, r, 1)] * factor);
        transpose_quad(pairs);
        if (key < tile.keys && (!C.padded || 8 * (i + static_cast<int>(lane % 4)) < width))
          row[i + lane % 4] = uint4{pairs[0], pairs[1], pairs[2], pairs[3]};
      }
    }
  }
};

}  // namespace napkin
