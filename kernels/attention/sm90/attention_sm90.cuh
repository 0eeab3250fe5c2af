#pragma once
// This kernel computes forward attention on Hopper. One producer warpgroup moves boxes with the copy engine; 1 to 3
// consumer warpgroups of 64 rows each compute S = Q K, the online softmax and O += P V. Knobs are those of
// attention_sm90.yaml; offsets and register counts come from the plan. Rows of a tile are (query, packed head), the
// head fastest.

#include "kernels/attention/sm90/dump_sm90.cuh"
#include "kernels/attention/sm90/epilogue_sm90.cuh"
#include "kernels/attention/sm90/producer_sm90.cuh"
#include "kernels/attention/sm90/products_sm90.cuh"
#include "kernels/attention/sm90/softmax_sm90.cuh"
#include "kernels/device/clock.cuh"

namespace napkin {

template <AttentionConfig C>
struct AttentionConsumer : AttentionDumper<C> {
  using Block = AttentionBlock<C>;
  using Softmax = AttentionSoftmax<C>;
  using Products = AttentionProducts<C>;
  using Epilogue = AttentionEpilogue<C>;
  using Dumper = AttentionDumper<C>;
  using typename Softmax::RowState, typename Block::Scores, typename Block::Outputs, typename Block::Probabilities;
  using Position = Ring<C.stages>;

  /// The state of a chunk between its scores and P. The softmax has two parts: the first runs during the previous
  /// chunk's product, the second after it. With a kept maximum, a chunk that all rows see in full is `plain`: it needs
  /// neither maximum nor rescaling, unless its exponentials outgrow the maximum.
  struct Chunk {
    bool plain;
    float sum[2];
  };

  __device__ __forceinline__ Chunk begin_softmax(Scores& s, RowState& state, const Tile& tile, int n,
                                                 bool& settled) const {
    const bool whole = n < tile.whole_last && n >= tile.whole_first;
    Chunk chunk{C.rescale_rarely && whole && settled, {0, 0}};
    if (chunk.plain) {
      Softmax::template exponentials<true>(s, state, chunk.sum);
    } else {
      if (!whole) Softmax::hide(s, tile, n);
      Softmax::softmax(s, state);
      if constexpr (C.rescale_rarely)
        settled = __all_sync(0xffffffffu, state.maximum[0] != -infinity && state.maximum[1] != -infinity);
    }
    return chunk;
  }

  __device__ __forceinline__ void end_softmax(Scores& s, Probabilities& p, Outputs& o, RowState& state,
                                              const Chunk& chunk, u32 copy, u32 stage) const {
    Softmax::convert(s, p);
    if constexpr (C.rescale_rarely) {
      if (chunk.plain) {
        if (Softmax::outgrew(chunk.sum)) {
          Products::score_again(s, copy, stage);
          Softmax::softmax(s, state);
          Softmax::rescale(o, state);
          Softmax::convert(s, p);
        } else {
#pragma unroll
          for (int r = 0; r < 2; ++r) state.sum[r] += chunk.sum[r];
        }
      }
      Products::release_k(stage);
    }
    Products::place(p);
  }

  /// Computes chunk n with overlap: its S is issued before P V of the chunk before, which then runs during the softmax
  /// of chunk n. `at` is the stage of V of the chunk before, `next` that of K of chunk n.
  __device__ __forceinline__ Chunk overlapped(const Tile& tile, int n, Scores& s, Probabilities& p, Outputs& o,
                                              RowState& state, u32 q, const Position& at, const Position& next,
                                              bool accumulate, bool& settled) const {
    Products::wait_turn();
    Products::issue_scores(s, q, next.stage);
    Products::wait_v(at);
    Products::issue_outputs(o, p, at.stage, accumulate);
    Products::pass_turn();
    wgmma_wait<1>();
    Products::scores_done(s, next.stage);
    Dumper::dump_scores(tile, n, s);
    const Chunk chunk = begin_softmax(s, state, tile, n, settled);
    wgmma_wait<0>();
    Products::outputs_done(o, p, at.stage);
    return chunk;
  }

  /// Computes chunk n without overlap: P V of the chunk before is done before S of chunk n is issued.
  __device__ __forceinline__ Chunk in_turn(const Tile& tile, int n, Scores& s, Probabilities& p, Outputs& o,
                                           RowState& state, u32 q, const Position& at, const Position& next,
                                           bool accumulate, bool& settled) const {
    Products::wait_v(at);
    Products::wait_turn();
    Products::issue_outputs(o, p, at.stage, accumulate);
    wgmma_wait<0>();
    Products::outputs_done(o, p, at.stage);
    Products::issue_scores(s, q, next.stage);
    Products::pass_turn();
    wgmma_wait<0>();
    Products::scores_done(s, next.stage);
    Dumper::dump_scores(tile, n, s);
    return begin_softmax(s, state, tile, n, settled);
  }

  /// Adds P V of the final chunk to O, while no scores are computed.
  __device__ __forceinline__ void last_outputs(const Probabilities& p, Outputs& o, Position& at,
                                               bool accumulate) const {
    Products::wait_v(at);
    Products::issue_outputs(o, p, at.stage, accumulate);
    wgmma_wait<0>();
    pin(o);
    Products::release_v(at.stage);
    at.advance();
  }

  /// Computes O of a tile from buffer `copy` of Q. `at` is the stage of V; inside the loop K is one stage further. The
  /// tile before stores its O from buffer `pending` of Q, which is released to the producer once it is read.
  __device__ __forceinline__ void attend(const Tile& tile, Outputs& o, RowState& state, Position& at, u32 copy,
                                         int pending) const {
    Scores s;
    Probabilities p;
    bool settled = false, accumulate = false;
    const u32 q = Products::q_matrix(copy);
    Products::wait_k(at);
    Products::issue_scores(s, q, at.stage);
    Epilogue::store_settle(pending);
    wgmma_wait<0>();
    Products::scores_done(s, at.stage);
    int n = tile.last - 1;
    Dumper::dump_scores(tile, n, s);
    end_softmax(s, p, o, state, begin_softmax(s, state, tile, n, settled), copy, at.stage);
    Dumper::dump_softmax(tile, n, p, state);
    for (--n; n >= tile.first; --n) {
      Position next = at;
      next.advance();
      Products::wait_k(next);
      Chunk chunk;
      if constexpr (C.overlap) {
        chunk = overlapped(tile, n, s, p, o, state, q, at, next, accumulate, settled);
      } else {
        chunk = in_turn(tile, n, s, p, o, state, q, at, next, accumulate, settled);
      }
      Dumper::dump_outputs(tile, n + 1, o);
      if (!chunk.plain) Softmax::rescale(o, state);
      end_softmax(s, p, o, state, chunk, copy, next.stage);
      Dumper::dump_softmax(tile, n, p, state);
      at = next;
      accumulate = true;
    }
    last_outputs(p, o, at, accumulate);
    Dumper::dump_outputs(tile, n + 1, o);
  }

  /// Stores O = 0 for a tile whose rows see no key.
  __device__ __forceinline__ void store_nothing(const Tile& tile, Outputs& o, RowState& state) const {
#pragma unroll
    for (int i = 0; i < Block::outputs; ++i) o[i] = 0;
    Epilogue::finish(tile, o, state);
    Dumper::dump_outputs(tile, Dumper::chunks(), o);
    Epilogue::store_rows(tile, o);
  }

  /// Stores O of a finished tile to device memory. Returns the buffer of Q from which the copy engine may still read O;
  /// negative for none.
  __device__ __forceinline__ int store(const Tile& tile, Outputs& o, RowState& state, u32 copy) const {
    Epilogue::finish(tile, o, state);
    Dumper::dump_outputs(tile, Dumper::chunks(), o);
    if constexpr (C.packed) {
      if (warpgroup_thread() == 0) Epilogue::release_q(copy);
      Epilogue::store_rows(tile, o);
    } else {
      Epilogue::store_boxes(tile, o, copy);
      if constexpr (C.q_stages > 1) return copy;
      Epilogue::store_settle(0);
    }
    return -1;
  }

  __device__ __forceinline__ void consume() const {
    Position at;
    Ring<C.q_stages> q;
    u32 parity = 0;
    int pending = -1;
    Products::open_turns();
    for (int index = blockIdx.x; index < Block::arguments.shape.tiles;
         index = Block::template next_tile<warpgroup_threads>(index, parity)) {
      const Tile tile = Block::tile_of(index);
      if (tile.q_first >= tile.queries) continue;
      Outputs o;
      RowState state{{-infinity, -infinity}, {0, 0}, {0, 0}};
      if (tile.first >= tile.last) {
        store_nothing(tile, o, state);
        continue;
      }
      barrier_wait(Block::barrier(Block::q_full + Block::q_slot(q.stage, Block::row_part())), q.parity);
      attend(tile, o, state, at, q.stage, pending);
      // Computed again: kept through the loop, it would take registers that the loop needs.
      asm volatile("" : "+r"(index));
      pending = store(Block::tile_of(index), o, state, q.stage);
      q.advance();
    }
    store_wait();
  }
};

template <AttentionConfig C>
__global__ void __launch_bounds__((C.warpgroups + 1) * 128, 1)
    attention_sm90(const __grid_constant__ AttentionArguments arguments) {
  extern __shared__ __align__(1024) unsigned char memory[];
  // A shuffle tells the compiler that the number is uniform: descriptors are then in uniform registers.
  const u32 shared = shared_address(memory), warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / warpgroup_threads, 0);
  const AttentionBlock<C> block{shared, arguments, warpgroup - 1};
  if (C.cycles && threadIdx.x == 0) note_start(arguments.cycles);
  if (threadIdx.x == 0) block.initialise();
  if constexpr (C.cluster > 1) {
    cluster_sync();
  } else {
    __syncthreads();
  }
  if (warpgroup == 0) {
    registers_shrink<C.producer_registers>();
    if (threadIdx.x == 0) {
      AttentionProducer<C>{block}.produce_kv();
    } else if (threadIdx.x == 32) {
      AttentionProducer<C>{block}.produce_q();
    }
  } else {
    registers_grow<C.consumer_registers>();
    AttentionConsumer<C>{{{{{block}}}}}.consume();
    if (C.cycles && warpgroup_thread() == 0) note_end(arguments.cycles);
  }
  if constexpr (C.cluster > 1) cluster_sync();
}

}  // namespace napkin
