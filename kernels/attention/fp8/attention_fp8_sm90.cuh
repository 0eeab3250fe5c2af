#pragma once
// This kernel computes forward attention on Hopper from e4m3 inputs to a bf16 output. Block, tiles, barriers and the
// turns of the warpgroups are attention_sm90's; its producer also transposes V in shared memory. S = Q K of a chunk is
// issued before P V of the chunk before. Knobs are those of attention_fp8_sm90.yaml; a tile's rows are (query, packed
// head), the head fastest.

#include "kernels/attention/fp8/producer_fp8.cuh"
#include "kernels/attention/fp8/products_fp8.cuh"
#include "kernels/device/clock.cuh"

namespace napkin {

template <AttentionFp8Config F>
struct Fp8Consumer : Fp8Products<F> {
  static constexpr AttentionConfig C = F.forward;
  using Products = Fp8Products<F>;
  using Softmax = Fp8Softmax<F>;
  using Base = AttentionEpilogue<C>;
  using Block = AttentionBlock<C>;
  using Places = Fp8Places<F>;
  using Position = Ring<C.stages>;
  using Block::wg, Block::barrier, Block::arguments, Products::fp8;
  using typename Block::Scores, typename Block::Outputs, typename Softmax::Probabilities, typename Softmax::RowState,
      typename Softmax::Factors, typename Products::Chunk;

  /// Scales of a chunk's K and V.
  struct KeyScales {
    float k, v;
  };
  __device__ __forceinline__ KeyScales key_scales(const Tile& tile, int n) const {
    return {Places::scale_at(fp8.k_scale, tile.batch, tile.head, n * C.x),
            Places::scale_at(fp8.v_scale, tile.batch, tile.head, n * C.x)};
  }
  __device__ __forceinline__ Factors row_factors(const Tile& tile) const {
    const u32 row = Block::thread_row(threadIdx.x % warp_threads);
    Factors out;
#pragma unroll
    for (int r = 0; r < (C.g == 1 ? 1 : 2); ++r) {  // rows and heads beyond the end have the scale of the last
      const TileRow own = Block::row_of(tile, row + 8 * r);
      const int query = min(own.query, tile.queries - 1), head = min(own.head, arguments.shape.g - 1);
      out.row[r] =
          arguments.scale_log2 * Places::scale_at(fp8.q_scale, tile.batch, tile.head * arguments.shape.g + head, query);
    }
    return out;
  }

  __device__ __forceinline__ void begin_softmax(Scores& s, RowState& state, const Tile& tile, int n,
                                                const Factors& rows, float key) const {
    if (n >= tile.whole_last || (C.mask == MaskKind::window && n < tile.whole_first)) Base::hide(s, tile, n);
    Softmax::find_maximum(s, state, rows, key);
  }

  /// Scales the running sums to the new maximum and adds P V of a chunk, and the sums of P where it has them.
  static __device__ __forceinline__ void merge(Outputs& o, const Chunk& chunk, RowState& state, const float (&delta)[2],
                                               float v) {
#pragma unroll
    for (int i = 0; i < Block::outputs; ++i) {
      o[i] *= delta[i / 2 % 2];
      o[i] = F.block_scales ? o[i] + chunk[i] * v : o[i] + chunk[i];
    }
    if constexpr (F.product_sums) {
#pragma unroll
      for (int r = 0; r < 2; ++r)
        state.sum[r] = state.sum[r] * delta[r] + chunk[fragment_index(Block::outputs / 4, r, 0)];
    }
  }

  /// Returns the accumulators of P V.
  static __device__ __forceinline__ auto& output_of(Outputs& o, Chunk& chunk) {
    if constexpr (F.merges) {
      return chunk;
    } else {
      return o;
    }
  }

  /// Adds P V of the final chunk to O, while no scores are computed.
  __device__ __forceinline__ void last_outputs(const Probabilities& p, Outputs& o, Chunk& chunk, RowState& state,
                                               Position& at, bool accumulate, float v) const {
    Products::wait_turned(at);
    auto& to = output_of(o, chunk);
    Products::issue_outputs(to, p, at.stage, accumulate);
    wgmma_wait<0>();
    pin(to);
    Base::release_v(at.stage);
    if constexpr (F.merges) merge(o, chunk, state, state.delta, v);
    at.advance();
  }

  /// Computes O of a tile from buffer `copy` of Q. `at` is the stage of V; inside the loop K is one stage further. The
  /// tile before stores its O from buffer `pending` of Q, which is released to the producer once it is read.
  __device__ __forceinline__ void attend(const Tile& tile, Outputs& o, RowState& state, const Factors& rows,
                                         KeyScales scales, Position& at, u32 copy, int pending) const {
    Scores s;
    Probabilities p;
    Chunk chunk;
    bool accumulate = false;
    const u32 q = Base::q_matrix(copy);
    int n = tile.last - 1;
    Base::wait_k(at);
    Products::issue_scores(s, q, at.stage);
    Base::store_settle(pending);
    wgmma_wait<0>();
    pin(s);
    Base::release_k(at.stage);
    begin_softmax(s, state, tile, n, rows, scales.k);
    Softmax::exponentials(s, state, rows, scales.k);
    Softmax::convert(s, p);
    for (--n; n >= tile.first; --n) {
      Position next = at;
      next.advance();
      KeyScales following = scales;
      if constexpr (F.block_scales) following = key_scales(tile, n);
      Base::wait_k(next);
      Base::wait_turn();
      Products::issue_scores(s, q, next.stage);
      Products::wait_turned(at);
      auto& to = output_of(o, chunk);
      Products::issue_outputs(to, p, at.stage, accumulate);
      Base::pass_turn();
      wgmma_wait<1>();
      pin(s);
      Base::release_k(next.stage);
      const float delta[2] = {state.delta[0], state.delta[1]};
      begin_softmax(s, state, tile, n, rows, following.k);
      // Without this fence the assembler waits for P V first, and the maximum is not found meanwhile.
      scheduling_fence();
      wgmma_wait<0>();
      pin(to);
      pin(p);
      Base::release_v(at.stage);
      Softmax::exponentials(s, state, rows, following.k);
      if constexpr (F.merges) {
        merge(o, chunk, state, delta, scales.v);
      } else {
        AttentionSoftmax<C>::rescale(o, state);
        accumulate = true;
      }
      Softmax::convert(s, p);
      at = next;
      scales = following;
    }
    last_outputs(p, o, chunk, state, at, accumulate, scales.v);
  }

  /// Stores O of a finished tile to device memory, by way of the tile's own buffer of Q. Returns the buffer of Q from
  /// which the copy engine may still read O; negative for none.
  __device__ __forceinline__ int store(const Tile& tile, Outputs& o, u32 copy) const {
    if constexpr (C.packed) {
      if (warpgroup_thread() == 0) Base::release_q(copy);
      Products::store_rows(tile, o);
      return -1;
    } else {
      Products::store_boxes(tile, o, copy);
      if constexpr (C.q_stages > 1) return copy;
      Base::store_settle(copy);
      return -1;
    }
  }

  __device__ __forceinline__ void consume() const {
    Position at;
    Ring<C.q_stages> q;
    u32 parity = 0;
    int pending = -1;
    Base::open_turns();
    for (int index = blockIdx.x; index < arguments.shape.tiles;
         index = Block::template next_tile<warpgroup_threads>(index, parity)) {
      const Tile tile = Block::tile_of(index);
      if (tile.q_first >= tile.queries) continue;
      Outputs o;
#pragma unroll
      for (int i = 0; i < Block::outputs; ++i) o[i] = 0;
      RowState state{{-infinity, -infinity}, {0, 0}, {0, 0}};
      if (tile.first >= tile.last) {
        Products::finish(tile, o, state, 0);
        Products::store_rows(tile, o);
        continue;
      }
      const Factors rows = row_factors(tile);
      const KeyScales scales = key_scales(tile, tile.last - 1);
      barrier_wait(barrier(Block::q_full + Block::q_slot(q.stage, wg)), q.parity);
      // Packed into one register for the loop, which needs the others; the tile is computed again.
      u32 kept = static_cast<u32>(index) << 3 | parity << 2 | q.parity << 1 | q.stage;
      attend(tile, o, state, rows, scales, at, q.stage, pending);
      asm volatile("" : "+r"(kept));
      index = static_cast<int>(kept >> 3), parity = kept >> 2 & 1, q.parity = kept >> 1 & 1, q.stage = kept & 1;
      const Tile same = Block::tile_of(index);
      Products::finish(same, o, state, F.block_scales ? 1.f : key_scales(same, 0).v);
      pending = store(same, o, q.stage);
      q.advance();
    }
    store_wait();
  }
};

template <AttentionFp8Config F>
__global__ void __launch_bounds__((F.forward.warpgroups + 1) * 128, 1)
    attention_fp8_sm90(const __grid_constant__ AttentionFp8Arguments arguments) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const u32 shared = shared_address(memory), warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / warpgroup_threads, 0);
  const AttentionBlock<F.forward> block{shared, arguments.forward, warpgroup - 1};
  if (F.forward.cycles && threadIdx.x == 0) note_start(arguments.forward.cycles);
  if (threadIdx.x == 0) Fp8Places<F>::initialise(block);
  Fp8Places<F>::template write_ones<(F.forward.warpgroups + 1) * 128>(shared);
  __syncthreads();
  if (warpgroup == 0) {
    registers_shrink<F.forward.producer_registers>();
    Fp8Producer<F>{{block}}.produce();
  } else {
    registers_grow<F.forward.consumer_registers>();
    Fp8Consumer<F>{{{{{{block}}}, arguments}}}.consume();
    if (F.forward.cycles && warpgroup_thread() == 0) note_end(arguments.forward.cycles);
  }
}

}  // namespace napkin
