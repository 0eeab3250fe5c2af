#pragma once
// This kernel computes attention's gradients on Hopper. A block has the keys of one tile and one head; its producer
// warpgroup moves Q and dO tile by tile with the copy engine, its consumer warpgroups of 64 keys keep dK and dV in
// registers and add up dQ in device memory. Two small kernels run before and after it (backward/rows_sm90.cuh). Knobs
// are those of attention_backward_sm90.yaml; offsets and register counts come from the plan.

#include "kernels/attention/backward/aside_sm90.cuh"
#include "kernels/attention/backward/gradients_sm90.cuh"
#include "kernels/attention/backward/producer_sm90.cuh"
#include "kernels/attention/backward/rows_sm90.cuh"
#include "kernels/device/clock.cuh"

namespace napkin {

template <AttentionBackwardConfig C>
struct BackwardConsumer : BackwardGradients<C> {
  using Block = BackwardBlock<C>;
  using Products = BackwardProducts<C>;
  using Gradients = BackwardGradients<C>;
  using Block::arguments, Block::barrier, Block::release, Block::wg;
  using typename Block::Scores, typename Block::Halves, typename Block::Dq;
  using QueryRing = Ring<C.stages>;
  using OutputRing = Ring<C.o_stages>;

  /// Accumulators that are kept through the loop.
  struct Sums {
    float dk[C.d / 2], dv[C.dv / 2];
  };

  __device__ __forceinline__ void wait_q(const QueryRing& at) const {
    barrier_wait(barrier(Block::q_full + at.stage), at.parity);
  }
  __device__ __forceinline__ void meet() const { named_sync(NamedBarrier::all, 0, C.warpgroups * warpgroup_threads); }

  /// Computes P and dS of a tile of queries from its scores and dP. The product dP runs during the exponentials, that
  /// of dV while dS is computed.
  __device__ __forceinline__ void differentiate(const KeyTile& tile, int q_tile, Scores& s, Halves& p, Halves& ds,
                                                Sums& sums, u32 stage, const OutputRing& d_o, bool accumulate) const {
    Scores dp;
    barrier_wait(barrier(Block::do_full + d_o.stage), d_o.parity);
    Products::issue_dp(dp, d_o.stage);
    if (q_tile < tile.whole_first || q_tile >= tile.whole_last) Gradients::hide(s, tile, q_tile);
    Gradients::exponentials(s, p, stage);
    wgmma_wait<0>();
    pin(dp);
    Products::issue_dv(sums.dv, p, d_o.stage, accumulate);
    Gradients::differences(p, dp, ds, d_o.stage);
  }

  struct Walk : TileWalk {
    QueryRing q;
    OutputRing d_o;
    u32 copy = 0;  // copy of dS
    bool accumulate = false;
    u32 steps = 0;
  };

  /// Adds the gradients of a tile of queries whose scores are ready. If `Last` is false, issues the next tile's scores.
  template <bool Last>
  __device__ __forceinline__ void step(const KeyTile& tile, Walk& at, Scores& s, Halves& p, Halves& ds,
                                       Sums& sums) const {
    differentiate(tile, at.q_tile, s, p, ds, sums, at.q.stage, at.d_o, at.accumulate);
    if constexpr (C.s_stages == 1) meet();
    Products::place_ds(ds, at.copy);
    meet();
    float dq[Dq::numbers];
    Products::issue_dq(dq, at.copy);
    // dV was done before dQ began, so this does not wait; it tells the compiler that P's registers are free
    wgmma_wait<1>();
    pin(sums.dv);
    pin(p);
    release(Block::do_empty + at.d_o.stage);
    const int stage = static_cast<int>(at.q.stage);
    Products::issue_dk(sums.dk, ds, stage, at.accumulate);
    at.q.advance();
    wgmma_wait<1>();
    pin(dq);
    Gradients::add_dq(dq, tile, Block::scratch(tile, at.in_group, at.q_tile), at.q_tile);
    wgmma_wait<0>();
    pin(sums.dk);
    pin(ds);
    release(Block::q_empty + stage);
    if constexpr (!Last) {
      wait_q(at.q);
      Products::issue_scores(s, at.q.stage);
      wgmma_wait<0>();
      pin(s);
    }
    at.accumulate = true;
    at.d_o.advance();
    if constexpr (C.s_stages > 1) at.copy ^= 1;
    at.next_tile(tile);
  }

  /// Returns the buffer of dS of the n-th step: the two buffers take turns.
  static __device__ __forceinline__ u32 copy_of(u32 n) { return n & 1; }
  static __device__ __forceinline__ u32 parity_of(u32 n) { return n >> 1 & 1; }

  /// Issues dQ of the n-th step, once both warpgroups have placed their dS.
  __device__ __forceinline__ void issue_late_dq(float (&dq)[Dq::numbers], u32 n) const {
    barrier_wait(barrier(Block::ds_full + copy_of(n)), parity_of(n));
    Products::issue_dq(dq, copy_of(n));
  }
  /// Adds a finished dQ to the sum of the tile before tile `at`.
  __device__ __forceinline__ void add_late_dq(float (&dq)[Dq::numbers], const KeyTile& tile, const Walk& at) const {
    pin(dq);
    const int in_group = at.q_tile == tile.start ? at.in_group - 1 : at.in_group,
              q_tile = at.q_tile == tile.first ? tile.last - 1 : at.q_tile - 1;
    Gradients::add_dq(dq, tile, Block::scratch(tile, in_group, q_tile), q_tile);
  }

  /// Adds the gradients of a tile of queries, and dQ of the tile before: by then the other warpgroup's dS has arrived,
  /// so that neither waits for the other. dQ takes the registers of the scores, which have become P.
  template <bool First, bool Last>
  __device__ __forceinline__ void late_step(const KeyTile& tile, Walk& at, Scores& s, Halves& p, Halves& ds,
                                            Sums& sums) const {
    Scores dp;
    barrier_wait(barrier(Block::do_full + at.d_o.stage), at.d_o.parity);
    Products::issue_dp(dp, at.d_o.stage);
    if (at.q_tile < tile.whole_first || at.q_tile >= tile.whole_last) Gradients::hide(s, tile, at.q_tile);
    Gradients::exponentials(s, p, at.q.stage);
    wgmma_wait<0>();
    pin(dp);
    Products::issue_dv(sums.dv, p, at.d_o.stage, !First);
    float dq[Dq::numbers];
    if constexpr (!First) issue_late_dq(dq, at.steps - 1);
    Gradients::differences(p, dp, ds, at.d_o.stage);
    barrier_wait(barrier(Block::ds_empty + copy_of(at.steps)), parity_of(at.steps) ^ 1);
    Products::place_ds(ds, copy_of(at.steps));
    __syncwarp();
    release(Block::ds_full + copy_of(at.steps));
    wgmma_wait<First ? 0 : 1>();
    pin(sums.dv);
    pin(p);
    release(Block::do_empty + at.d_o.stage);
    const int stage = static_cast<int>(at.q.stage);
    Products::issue_dk(sums.dk, ds, stage, !First);
    if constexpr (!First) {
      wgmma_wait<1>();
      add_late_dq(dq, tile, at);
      release(Block::ds_empty + copy_of(at.steps - 1));
    }
    at.q.advance();
    if constexpr (!Last) {
      wait_q(at.q);
      Products::issue_scores(s, at.q.stage);
    }
    wgmma_wait<Last ? 0 : 1>();
    pin(sums.dk);
    pin(ds);
    release(Block::q_empty + stage);
    if constexpr (!Last) {
      wgmma_wait<0>();
      pin(s);
    }
    ++at.steps;
    at.d_o.advance();
    at.next_tile(tile);
  }

  __device__ __forceinline__ void late_steps(const KeyTile& tile, Walk& at, Scores& s, Sums& sums) const {
    Halves p, ds;
    int left = arguments.shape.g * (tile.last - tile.first);
    if (left == 1) {
      late_step<true, true>(tile, at, s, p, ds, sums);
    } else {
      late_step<true, false>(tile, at, s, p, ds, sums);
      for (left -= 2; left > 0; --left) late_step<false, false>(tile, at, s, p, ds, sums);
      late_step<false, true>(tile, at, s, p, ds, sums);
    }
    float dq[Dq::numbers];
    issue_late_dq(dq, at.steps - 1);
    wgmma_wait<0>();
    add_late_dq(dq, tile, at);
  }

  /// Visits all tiles of queries that see these keys, for all query heads of the group.
  __device__ __forceinline__ void walk(const KeyTile& tile, Sums& sums) const {
    Walk at;
    Scores s;
    at.q_tile = tile.start;
    wait_q(at.q);
    Products::issue_scores(s, at.q.stage);
    barrier_wait(barrier(Block::v_full), 0);
    wgmma_wait<0>();
    pin(s);
    if constexpr (C.overlap) {
      late_steps(tile, at, s, sums);
    } else {
      Halves p, ds;
      for (int left = arguments.shape.g * (tile.last - tile.first); left > 1; --left)
        step<false>(tile, at, s, p, ds, sums);
      step<true>(tile, at, s, p, ds, sums);
    }
  }

  __device__ __forceinline__ void consume() const {
    const KeyTile tile = Block::key_tile();
    Sums sums;
    if (tile.first < tile.last) {
      Gradients::await_zeros();
      barrier_wait(barrier(Block::k_full), 0);
      walk(tile, sums);
    } else {
#pragma unroll
      for (float& value : sums.dk) value = 0;
#pragma unroll
      for (float& value : sums.dv) value = 0;
    }
    if constexpr (C.dq == SumOrder::bulk) store_wait();
    __syncwarp();
    release(Block::added);
    Gradients::template store_rows<C.d>(sums.dk, arguments.dk, tile, arguments.scale, arguments.shape.d);
    Gradients::template store_rows<C.dv>(sums.dv, arguments.dv, tile, 1.f, arguments.shape.dv);
  }
};

template <AttentionBackwardConfig C>
__global__ void __launch_bounds__((C.warpgroups + 1) * 128, 1)
    attention_backward_sm90(const __grid_constant__ AttentionBackwardArguments arguments) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const u32 shared = shared_address(memory), warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / warpgroup_threads, 0);
  const BackwardBlock<C> block{shared, arguments, warpgroup - 1};
  if (C.cycles && threadIdx.x == 0) note_start(arguments.cycles);
  if (threadIdx.x == 0) block.initialise();
  __syncthreads();
  if (warpgroup == 0) {
    registers_shrink<C.producer_registers>();
    // The shuffle tells the compiler that whole warps take a branch: else both branches would share registers.
    if (__shfl_sync(0xffffffffu, threadIdx.x / warp_threads, 0) != 0) {
      BackwardAside<C>{block}.work();
    } else if (threadIdx.x == 0) {
      BackwardProducer<C>{block}.produce();
    }
  } else {
    registers_grow<C.consumer_registers>();
    BackwardConsumer<C>{{{block}}}.consume();
    if (C.cycles && warpgroup_thread() == 0) note_end(arguments.cycles);
  }
}

}  // namespace napkin
