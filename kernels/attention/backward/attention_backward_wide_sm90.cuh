#pragma once
// This kernel computes the gradients of attention's wide heads on Hopper, where 64 keys' dK and dV take more registers
// than a warpgroup has. Three consumer warpgroups divide the gradients: one makes scores, P and dV, one dP, dS and dK,
// one dQ. P and dS pass between them through shared memory; all else is attention_backward_sm90's. Knobs are those of
// attention_backward_wide_sm90.yaml.

#include "kernels/attention/backward/aside_sm90.cuh"
#include "kernels/attention/backward/gradients_sm90.cuh"
#include "kernels/attention/backward/producer_sm90.cuh"
#include "kernels/attention/backward/rows_sm90.cuh"
#include "kernels/device/clock.cuh"

namespace napkin {

/// Returns the position of the n-th tile in a ring. A thread that keeps n alone needs fewer registers than for a
/// position in each ring.
template <int Stages>
__device__ __forceinline__ Ring<Stages> ring_at(u32 n) {
  return {n % Stages, n / Stages & 1};
}

/// The shared memory through which P of a tile passes from the threads of one warpgroup to those of another, in the
/// order of accumulators.
template <AttentionBackwardConfig C>
struct HandedP {
  using Halves = typename BackwardBlock<C>::Halves;

  /// Returns the address of a thread's n-th 16 bytes.
  static __device__ __forceinline__ u32 place(const BackwardBlock<C>& block, int n) {
    return block.shared + C.p_offset + (n * warpgroup_threads + threadIdx.x % warpgroup_threads) * 16;
  }
  static __device__ __forceinline__ void give(const BackwardBlock<C>& block, const Halves& p, u32 parity) {
    barrier_wait(block.barrier(BackwardBlock<C>::p_empty), parity ^ 1);
#pragma unroll
    for (int n = 0; n < C.q / 16; ++n) {
      store_four(place(block, n), Floats{__uint_as_float(p[4 * n]), __uint_as_float(p[4 * n + 1]),
                                         __uint_as_float(p[4 * n + 2]), __uint_as_float(p[4 * n + 3])});
    }
    __syncwarp();
    block.release(BackwardBlock<C>::p_full);
  }
  static __device__ __forceinline__ void take(const BackwardBlock<C>& block, Halves& p, u32 parity) {
    barrier_wait(block.barrier(BackwardBlock<C>::p_full), parity);
#pragma unroll
    for (int n = 0; n < C.q / 16; ++n) {
      const Quad four = load_quad(place(block, n));
#pragma unroll
      for (int i = 0; i < 4; ++i) p[4 * n + i] = four.word[i];
    }
    __syncwarp();
    block.release(BackwardBlock<C>::p_empty);
  }
};

/// The warpgroup of dV: S' = K Q', P' = exp(S'), dV += P' dO.
template <AttentionBackwardConfig C>
struct BackwardValues : BackwardGradients<C> {
  using Block = BackwardBlock<C>;
  using Products = BackwardProducts<C>;
  using Gradients = BackwardGradients<C>;
  using Block::arguments, Block::barrier, Block::release;
  using typename Block::Scores, typename Block::Halves;

  __device__ __forceinline__ void scores(Scores& s, u32 n) const {
    const auto q = ring_at<C.stages>(n);
    barrier_wait(barrier(Block::q_full + q.stage), q.parity);
    Products::issue_scores(s, q.stage);
  }

  /// Adds the product of the n-th tile, whose scores are ready, to dV; the next tile's scores run after it.
  template <bool Last>
  __device__ __forceinline__ void step(const KeyTile& tile, int q_tile, u32 n, Scores& s, float (&dv)[C.dv / 2]) const {
    const auto q = ring_at<C.stages>(n);
    const auto d_o = ring_at<C.o_stages>(n);
    Halves p;
    if (q_tile < tile.whole_first || q_tile >= tile.whole_last) Gradients::hide(s, tile, q_tile);
    Gradients::exponentials(s, p, q.stage);
    HandedP<C>::give(*this, p, ring_at<1>(n).parity);
    release(Block::q_empty + q.stage);
    barrier_wait(barrier(Block::do_full + d_o.stage), d_o.parity);
    Products::issue_dv(dv, p, d_o.stage, n != 0);
    if constexpr (!Last) scores(s, n + 1);
    wgmma_wait<Last ? 0 : 1>();
    pin(dv);
    pin(p);
    release(Block::do_empty + d_o.stage);
    if constexpr (!Last) {
      wgmma_wait<0>();
      pin(s);
    }
  }

  __device__ __forceinline__ void work() const {
    const KeyTile tile = Block::key_tile();
    float dv[C.dv / 2];
    if (tile.first < tile.last) {
      TileWalk at;
      Scores s;
      at.q_tile = tile.start;
      barrier_wait(barrier(Block::k_full), 0);
      scores(s, 0);
      wgmma_wait<0>();
      pin(s);
      const u32 tiles = arguments.shape.g * (tile.last - tile.first);
      u32 n = 0;
      for (; n + 1 < tiles; ++n) {
        step<false>(tile, at.q_tile, n, s, dv);
        at.next_tile(tile);
      }
      step<true>(tile, at.q_tile, n, s, dv);
    } else {
#pragma unroll
      for (float& value : dv) value = 0;
    }
    Gradients::template store_rows<C.dv>(dv, arguments.dv, tile, 1.f, arguments.shape.dv);
  }
};

/// The warpgroup of dK: dP' = V dO', dS' = P' (dP' - delta), dK += dS' Q.
template <AttentionBackwardConfig C>
struct BackwardKeys : BackwardGradients<C> {
  using Block = BackwardBlock<C>;
  using Products = BackwardProducts<C>;
  using Gradients = BackwardGradients<C>;
  using Block::arguments, Block::barrier, Block::release;
  using typename Block::Scores, typename Block::Halves;

  __device__ __forceinline__ void pairs(Scores& dp, u32 n) const {
    const auto d_o = ring_at<C.o_stages>(n);
    barrier_wait(barrier(Block::do_full + d_o.stage), d_o.parity);
    Products::issue_dp(dp, d_o.stage);
  }

  /// Adds the product of the n-th tile, whose dP is ready, to dK; the next tile's dP runs after it.
  template <bool Last>
  __device__ __forceinline__ void step(u32 n, Scores& dp, float (&dk)[C.d / 2]) const {
    const auto q = ring_at<C.stages>(n);
    const auto d_o = ring_at<C.o_stages>(n);
    const auto to = ring_at<C.s_stages>(n);
    Halves p, ds;
    HandedP<C>::take(*this, p, ring_at<1>(n).parity);
    Gradients::differences(p, dp, ds, d_o.stage);
    barrier_wait(barrier(Block::ds_empty + to.stage), to.parity ^ 1);
    Products::place_ds(ds, to.stage);
    __syncwarp();
    release(Block::ds_full + to.stage);
    release(Block::do_empty + d_o.stage);
    barrier_wait(barrier(Block::q_full + q.stage), q.parity);
    Products::issue_dk(dk, ds, q.stage, n != 0);
    if constexpr (!Last) pairs(dp, n + 1);
    wgmma_wait<Last ? 0 : 1>();
    pin(dk);
    pin(ds);
    release(Block::q_empty + q.stage);
    if constexpr (!Last) {
      wgmma_wait<0>();
      pin(dp);
    }
  }

  __device__ __forceinline__ void work() const {
    const KeyTile tile = Block::key_tile();
    float dk[C.d / 2];
    if (tile.first < tile.last) {
      Scores dp;
      barrier_wait(barrier(Block::v_full), 0);
      pairs(dp, 0);
      wgmma_wait<0>();
      pin(dp);
      const u32 tiles = arguments.shape.g * (tile.last - tile.first);
      u32 n = 0;
      for (; n + 1 < tiles; ++n) step<false>(n, dp, dk);
      step<true>(n, dp, dk);
    } else {
#pragma unroll
      for (float& value : dk) value = 0;
    }
    Gradients::template store_rows<C.d>(dk, arguments.dk, tile, arguments.scale, arguments.shape.d);
  }
};

/// The warpgroup of dQ = dS K, which computes 64 columns at a time.
template <AttentionBackwardConfig C>
struct BackwardQueries : BackwardGradients<C> {
  using Block = BackwardBlock<C>;
  using Gradients = BackwardGradients<C>;
  using Block::arguments, Block::barrier, Block::release;
  using typename Block::Dq;

  /// The current tile of queries, and its place in the scratch memory, which takes fewer registers than the values from
  /// which it is computed.
  struct Walk {
    int q_tile, number;

    __device__ __forceinline__ void next_tile(const KeyTile& tile, int tiles) {
      ++q_tile, ++number;
      if (q_tile == tile.last) q_tile = tile.first, number -= tile.last - tile.first;
      if (q_tile == tile.start) number += tiles;
    }
  };

  /// Adds every part of a tile's dQ.
  __device__ __forceinline__ void step(const KeyTile& tile, const Walk& at, u32 copy) const {
    Gradients part = *this;
#pragma unroll 1
    for (part.wg = 0; part.wg < Dq::parts; ++part.wg) {
      float dq[Dq::numbers];
      part.issue_dq(dq, copy);
      wgmma_wait<0>();
      pin(dq);
      if (part.wg == Dq::parts - 1) release(Block::ds_empty + copy);
      part.add_dq(dq, tile, at.number, at.q_tile);
    }
  }

  __device__ __forceinline__ void work() const {
    const KeyTile tile = Block::key_tile();
    if (tile.first < tile.last) {
      Gradients::await_zeros();
      Walk at{tile.start, static_cast<int>(Block::scratch(tile, 0, tile.start))};
      barrier_wait(barrier(Block::k_full), 0);
      const u32 tiles = arguments.shape.g * (tile.last - tile.first);
#pragma unroll 1
      for (u32 n = 0; n < tiles; ++n) {
        const auto ds = ring_at<C.s_stages>(n);
        barrier_wait(barrier(Block::ds_full + ds.stage), ds.parity);
        step(tile, at, ds.stage);
        at.next_tile(tile, arguments.shape.q_tiles);
      }
    }
    __syncwarp();
    release(Block::added);
  }
};

template <AttentionBackwardConfig C>
__global__ void __launch_bounds__(4 * 128, 1)
    attention_backward_wide_sm90(const __grid_constant__ AttentionBackwardArguments arguments) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const u32 shared = shared_address(memory), warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / warpgroup_threads, 0);
  const BackwardBlock<C> block{shared, arguments, 0};
  if (C.cycles && threadIdx.x == 0) note_start(arguments.cycles);
  if (threadIdx.x == 0) block.initialise();
  __syncthreads();
  if (warpgroup == 0) {
    registers_shrink<C.producer_registers>();
    if (__shfl_sync(0xffffffffu, threadIdx.x / warp_threads, 0) != 0) {
      BackwardAside<C>{block}.work();
    } else if (threadIdx.x == 0) {
      BackwardProducer<C>{block}.produce();
    }
    return;
  }
  if (warpgroup == 1) {
    registers_grow<C.consumer_registers>();
    BackwardValues<C>{{{block}}}.work();
  } else if (warpgroup == 2) {
    registers_grow<C.consumer_registers>();
    BackwardKeys<C>{{{block}}}.work();
  } else {
    registers_shrink<C.queries_registers>();
    BackwardQueries<C>{{{block}}}.work();
  }
  if (C.cycles && warpgroup_thread() == 0) note_end(arguments.cycles);
}

}  // namespace napkin
