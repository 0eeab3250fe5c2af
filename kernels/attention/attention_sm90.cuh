#pragma once
// Forward attention on Hopper. One producer warpgroup moves boxes with the copy engine; 1 to 3 consumer warpgroups of
// 64 rows each compute S = Q K, the online softmax and O += P V. Knobs are those of attention_sm90.yaml; offsets and
// register counts come from the plan. Rows of a tile are (query, packed head), the head fastest.

#include "kernels/attention/dump.cuh"
#include "kernels/attention/producer_sm90.cuh"
#include "kernels/attention/softmax_sm90.cuh"
#include "kernels/device/clock.cuh"
#include "kernels/device/mma.cuh"

namespace napkin {

template <AttentionConfig C>
struct AttentionConsumer : AttentionSoftmax<C> {
  using Block = AttentionBlock<C>;
  using Softmax = AttentionSoftmax<C>;
  using Block::q_full, Block::q_empty, Block::k_full, Block::k_empty, Block::v_full, Block::v_empty;
  using Block::rows, Block::d_span, Block::dv_span, Block::x_span, Block::k_bytes, Block::v_bytes, Block::scores,
      Block::outputs, Block::probabilities;
  using Block::shared, Block::arguments, Block::wg, Block::barrier, Block::tile_of, Block::q_place, Block::q_slot;
  using Softmax::hide, Softmax::softmax, Softmax::outgrew, Softmax::convert, Softmax::rescale;
  using typename Softmax::RowState;

  // One arrival of every `Threads`, to each block of the cluster: V's stages by warpgroup; K's by warp, since a warp
  // may read its chunk again.
  template <int Threads>
  __device__ __forceinline__ void release(u32 slot) const {
    if constexpr (C.cluster > 1) {
      if (threadIdx.x % Threads < C.cluster) barrier_arrive_remote(barrier(slot), threadIdx.x % Threads);
    } else {
      if (threadIdx.x % Threads == 0) barrier_arrive(barrier(slot));
    }
  }
  __device__ __forceinline__ void release_k(u32 stage) const { release<32>(k_empty + stage); }
  __device__ __forceinline__ void release_v(u32 stage) const { release<128>(v_empty + stage); }

  // This warpgroup's rows in that copy of Q, for descriptors. By shuffle: of two copies' addresses the compiler would
  // make each product's descriptor in vector registers, and moving them over takes longer than a product of few columns
  // (NOTES.md, version 10). Three warpgroups have no register for it.
  __device__ __forceinline__ u32 q_matrix(u32 copy) const {
    const u32 matrix = matrix_address(q_place(copy, wg));
    return C.warpgroups < 3 && C.q_stages > 1 ? __shfl_sync(0xffffffffu, matrix, 0) : matrix;
  }

  // S = Q K, Q from q_matrix: issues and commits.
  __device__ __forceinline__ void issue_scores(float (&s)[scores], u32 a, u32 stage) const {
    const u32 b = matrix_address(shared + C.k_offset + stage * k_bytes);
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < C.d; k += 16) {
      const u32 span = k / d_span, inner = (k % d_span) * 2;
      wgmma<C.x, C.bf16, 0>(s, descriptor<d_span>(a + ((span * (rows * d_span * 2) + inner) >> 4), 0),
                            descriptor<d_span>(b + ((span * (C.x * d_span * 2) + inner) >> 4), 0), k != 0);
    }
    wgmma_commit();
  }

  // O += P V: issues and commits.
  __device__ __forceinline__ void issue_outputs(float (&o)[outputs], const u32 (&p)[probabilities], u32 stage,
                                                bool accumulate) const {
    const u32 a = matrix_address(shared + C.p_offset + wg * (rows * C.x * 2)),
              b = matrix_address(shared + C.v_offset + stage * v_bytes);
    constexpr u32 leading = C.x * dv_span * 2 >> 4;
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < C.x; k += 16) {
      const u64 v = descriptor<dv_span>(b + (k * (dv_span * 2) >> 4), leading);
      if constexpr (C.p_shared) {
        const u32 span = k / x_span, inner = (k % x_span) * 2;
        wgmma<C.dv, C.bf16, 1>(o, descriptor<x_span>(a + ((span * (rows * x_span * 2) + inner) >> 4), 0), v,
                               accumulate || k != 0);
      } else {
        wgmma<C.dv, C.bf16, 1>(o, p + k / 4, v, accumulate || k != 0);
      }
    }
    wgmma_commit();
  }

  // P in shared memory, where it is multiplied from there.
  __device__ __forceinline__ void place(const u32 (&p)[probabilities]) const {
    if constexpr (C.p_shared) {
      const u32 base = shared + C.p_offset + wg * (rows * C.x * 2);
      const u32 lane = threadIdx.x % 32, row = threadIdx.x % 128 / 32 * 16 + lane % 16, column = lane / 16 * 8;
#pragma unroll
      for (int k = 0; k < C.x; k += 16) {
        const u32* r = p + k / 4;
        store_matrices(base + swizzled<rows, x_span>(row, k + column), r[0], r[1], r[2], r[3]);
      }
      async_fence();
      named_sync(6 + wg, 128);
    }
  }

  // The scores once more, by this warp alone.
  __device__ __forceinline__ void score_again(float (&s)[scores], u32 copy, u32 stage) const {
    const u32 q = q_place(copy, wg), k_place = shared + C.k_offset + stage * k_bytes, lane = threadIdx.x % 32;
    const u32 row = threadIdx.x % 128 / 32 * 16 + lane % 16, column = lane / 16 * 8;
#pragma unroll
    for (int i = 0; i < scores; ++i) s[i] = 0;
#pragma unroll 1
    for (int k = 0; k < C.d; k += 16) {
      u32 a[4];
      load_matrices(a, q + swizzled<rows, d_span>(row, k + column));
#pragma unroll
      for (int x = 0; x < C.x; x += 16) {
        u32 b[4];
        load_matrices(b, k_place + swizzled<C.x, d_span>(x + lane % 16, k + column));
        mma<C.bf16>(s + x / 2, a, b[0], b[2]);
        mma<C.bf16>(s + x / 2 + 4, a, b[1], b[3]);
      }
    }
  }

  __device__ __forceinline__ void my_turn() const {
    if constexpr (C.pingpong) named_sync(1 + wg, 256);
  }
  __device__ __forceinline__ void next_turn() const {
    if constexpr (C.pingpong) named_arrive(1 + (wg + 1) % C.warpgroups, 256);
  }

  // What happens to a chunk's scores until its P is ready, in two parts: the first beside the last chunk's product, the
  // second behind it. With a kept maximum a chunk that all rows see in full needs neither maximum nor rescaling, unless
  // its exponentials outgrow it.
  struct Chunk {
    bool plain;
    float sum[2];
  };

  __device__ __forceinline__ Chunk begin_softmax(float (&s)[scores], RowState& state, const Tile& tile, int n,
                                                 bool& settled) const {
    const bool whole = n < tile.whole_last && n >= tile.whole_first;
    Chunk chunk{C.rescale_rarely && whole && settled, {0, 0}};
    if (chunk.plain) {
      Softmax::template exponentials<true>(s, state, chunk.sum);
    } else {
      if (!whole) hide(s, tile, n);
      softmax(s, state);
      if constexpr (C.rescale_rarely)
        settled = __all_sync(0xffffffffu, state.maximum[0] != -infinity && state.maximum[1] != -infinity);
    }
    return chunk;
  }

  __device__ __forceinline__ void end_softmax(float (&s)[scores], u32 (&p)[probabilities], float (&o)[outputs],
                                              RowState& state, const Chunk& chunk, u32 copy, u32 stage) const {
    convert(s, p);
    if constexpr (C.rescale_rarely) {
      if (chunk.plain) {
        if (outgrew(chunk.sum)) {
          score_again(s, copy, stage);
          softmax(s, state);
          rescale(o, state);
          convert(s, p);
        } else {
#pragma unroll
          for (int r = 0; r < 2; ++r) state.sum[r] += chunk.sum[r];
        }
      }
      release_k(stage);
    }
    place(p);
  }

  // S of a chunk is there; its K may go unless it may have to be read again.
  __device__ __forceinline__ void scores_done(float (&s)[scores], u32 stage) const {
    pin(s);
    if constexpr (!C.rescale_rarely) release_k(stage);
  }

  // O for one tile from that copy of Q. `ring` is V's position; K's is one further inside the loop. `pending`: the copy
  // of Q whose O the last tile is still storing.
  __device__ __forceinline__ void attend(const Tile& tile, float (&o)[outputs], RowState& state, Ring<C.stages>& ring,
                                         u32 copy, int pending) const {
    float s[scores];
    u32 p[probabilities];
    bool settled = false, accumulate = false;
    const u32 q = q_matrix(copy);
    barrier_wait(barrier(k_full + ring.stage), ring.parity);
    issue_scores(s, q, ring.stage);
    store_settle(pending);
    wgmma_wait<0>();
    scores_done(s, ring.stage);
    int n = tile.last - 1;
    note_scores(tile, n, s);
    end_softmax(s, p, o, state, begin_softmax(s, state, tile, n, settled), copy, ring.stage);
    note_softmax(tile, n, p, state);
    for (--n; n >= tile.first; --n) {
      Ring<C.stages> next = ring;
      next.advance();
      barrier_wait(barrier(k_full + next.stage), next.parity);
      Chunk chunk;
      if constexpr (C.overlap) {
        my_turn();
        issue_scores(s, q, next.stage);
        barrier_wait(barrier(v_full + ring.stage), ring.parity);
        issue_outputs(o, p, ring.stage, accumulate);
        next_turn();
        wgmma_wait<1>();
        scores_done(s, next.stage);
        note_scores(tile, n, s);
        chunk = begin_softmax(s, state, tile, n, settled);
        wgmma_wait<0>();
        pin(o);
        pin(p);
        release_v(ring.stage);
      } else {
        barrier_wait(barrier(v_full + ring.stage), ring.parity);
        my_turn();
        issue_outputs(o, p, ring.stage, accumulate);
        wgmma_wait<0>();
        pin(o);
        pin(p);
        release_v(ring.stage);
        issue_scores(s, q, next.stage);
        next_turn();
        wgmma_wait<0>();
        scores_done(s, next.stage);
        note_scores(tile, n, s);
        chunk = begin_softmax(s, state, tile, n, settled);
      }
      note_outputs(tile, n + 1, o);
      if (!chunk.plain) rescale(o, state);
      end_softmax(s, p, o, state, chunk, copy, next.stage);
      note_softmax(tile, n, p, state);
      ring = next;
      accumulate = true;
    }
    barrier_wait(barrier(v_full + ring.stage), ring.parity);
    issue_outputs(o, p, ring.stage, accumulate);
    wgmma_wait<0>();
    pin(o);
    release_v(ring.stage);
    note_outputs(tile, n + 1, o);
    ring.advance();
  }

  // ---- debug variant: intermediates of every tile and chunk --------------------------------------------------------

  static __device__ constexpr AttentionDump at() { return attention_dump(C.x, C.dv); }

  __device__ __forceinline__ int chunks() const { return (arguments.shape.x + C.x - 1) / C.x; }

  // Where this warp's 16 rows of that chunk begin.
  __device__ __forceinline__ float* noted(const Tile& tile, int n) const {
    const DumpLayout layout{rows * C.warpgroups, at().pitch, chunks()};
    const int row = static_cast<int>(wg) * rows + threadIdx.x % 128 / 32 * 16;
    return arguments.dump + tile_number<C.q, C.g>(arguments.shape, tile) * layout.tile_size() +
           n * layout.chunk_size() + row * at().pitch;
  }

  __device__ __forceinline__ void note_scores(const Tile& tile, int n, const float (&s)[scores]) const {
    if constexpr (C.dump) {
      write_fragment<scores>(noted(tile, n) + at().s, at().pitch, [&](int i) { return s[i]; });
    }
  }

  // P as it is multiplied, and the state behind this chunk.
  __device__ __forceinline__ void note_softmax(const Tile& tile, int n, const u32 (&p)[probabilities],
                                               const RowState& state) const {
    if constexpr (C.dump) {
      float* to = noted(tile, n);
      write_fragment<scores>(to + at().p, at().pitch, [&](int i) { return unpack<C.bf16>(p[i / 2], i % 2 != 0); });
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float z = quad_sum(state.sum[r]);
        float* row = to + (threadIdx.x % 32 / 4 + 8 * r) * at().pitch;
        if (threadIdx.x % 4 != 0) continue;
        row[at().mu] = state.maximum[r] * arguments.scale;
        row[at().delta] = state.delta[r];
        row[at().z] = z;
      }
    }
  }

  // Chunk chunks(): the finished O.
  __device__ __forceinline__ void note_outputs(const Tile& tile, int n, const float (&o)[outputs]) const {
    if constexpr (C.dump) {
      write_fragment<outputs>(noted(tile, n) + at().o, at().pitch, [&](int i) { return o[i]; });
    }
  }

  // ---- epilogue ----------------------------------------------------------------------------------------------------

  // O /= z and the log-sum-exp; a row that saw nothing gives 0 and -infinity.
  __device__ __forceinline__ void finish(const Tile& tile, float (&o)[outputs], RowState& state) const {
    const u32 lane = threadIdx.x % 32, row = wg * rows + threadIdx.x % 128 / 32 * 16 + lane / 4;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float z = quad_sum(state.sum[r]);
      const float inverse = z > 0 ? 1.f / z : 0.f;
#pragma unroll
      for (int i = 0; i < outputs / 4; ++i) {
        o[4 * i + 2 * r] *= inverse;
        o[4 * i + 2 * r + 1] *= inverse;
      }
      const int query = tile.q_first + static_cast<int>(row + 8 * r) / C.g,
                head = tile.packed_head + (row + 8 * r) % C.g;
      if (lane % 4 == 0 && query < tile.queries && arguments.lse != nullptr) {
        const float value = z > 0 ? state.maximum[r] * arguments.scale + __logf(z) : -infinity;
        arguments.lse[lse_index<C.packed>(arguments.shape, tile, head, query)] = value;
      }
    }
  }

  // Through shared memory (this warpgroup's rows of Q) and the copy engine, which clips the ragged last rows.
  __device__ __forceinline__ void store_boxes(const Tile& tile, const float (&o)[outputs], u32 copy) const {
    const u32 base = q_place(copy, wg);
    const u32 lane = threadIdx.x % 32, row = threadIdx.x % 128 / 32 * 16 + lane % 16, column = lane / 16 * 8;
#pragma unroll
    for (int c = 0; c < C.dv; c += 16) {
      const float* v = o + c / 2;
      store_matrices(base + swizzled<rows, dv_span>(row, c + column), pack<C.bf16>(v[0], v[1]),
                     pack<C.bf16>(v[2], v[3]), pack<C.bf16>(v[4], v[5]), pack<C.bf16>(v[6], v[7]));
    }
    async_fence();
    named_sync(6 + wg, 128);
    if (threadIdx.x % 128 == 0) {
#pragma unroll
      for (int c = 0; c < C.dv; c += dv_span) {
        store_box(base + c * rows * 2, arguments.o_map, c, tile.packed_head, tile.q_row + wg * (rows / C.g), tile.head,
                  tile.map_batch);
      }
      store_commit();
    }
  }

  // Gives that copy of Q back once its O has been read; negative: nothing to give back. With a second copy of Q this
  // waits under the next tile's first product.
  __device__ __forceinline__ void store_settle(int pending) const {
    if (pending >= 0 && threadIdx.x % 128 == 0) {
      store_wait_read();
      barrier_arrive(barrier(q_empty + q_slot(pending, wg)));
    }
  }

  // Straight from registers: for packed sequences, whose last rows border on the next one's, and for empty tiles.
  __device__ __forceinline__ void store_rows(const Tile& tile, const float (&o)[outputs]) const {
    const u32 lane = threadIdx.x % 32, row = wg * rows + threadIdx.x % 128 / 32 * 16 + lane / 4;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const int query = tile.q_first + static_cast<int>(row + 8 * r) / C.g,
                head = tile.packed_head + (row + 8 * r) % C.g;
      if (query >= tile.queries) continue;
      u32* to =
          reinterpret_cast<u32*>(static_cast<unsigned short*>(arguments.o) +
                                 (tile.map_batch * arguments.o_batch + (tile.q_start + query) * arguments.o_row +
                                  (static_cast<long long>(tile.head) * arguments.shape.g + head) * arguments.o_head));
#pragma unroll
      for (int i = 0; i < outputs / 4; ++i) {
        to[4 * i + lane % 4] = pack<C.bf16>(o[4 * i + 2 * r], o[4 * i + 2 * r + 1]);
      }
    }
  }

  __device__ __forceinline__ void consume() const {
    Ring<C.stages> ring;
    Ring<C.q_stages> q;
    u32 parity = 0;
    int pending = -1;
    if (C.pingpong && wg == 0) named_arrive(1, 256);
    for (int index = blockIdx.x; index < arguments.shape.tiles; index = Block::template next_tile<128>(index, parity)) {
      const Tile tile = tile_of(index);
      if (tile.q_first >= tile.queries) continue;
      float o[outputs];
      RowState state{{-infinity, -infinity}, {0, 0}, {0, 0}};
      if (tile.first >= tile.last) {
#pragma unroll
        for (int i = 0; i < outputs; ++i) o[i] = 0;
        finish(tile, o, state);
        note_outputs(tile, chunks(), o);
        store_rows(tile, o);
        continue;
      }
      barrier_wait(barrier(q_full + q_slot(q.stage, wg)), q.parity);
      attend(tile, o, state, ring, q.stage, pending);
      // Found again rather than kept: the loop needs the registers.
      asm volatile("" : "+r"(index));
      const Tile done = tile_of(index);
      finish(done, o, state);
      note_outputs(done, chunks(), o);
      if constexpr (C.packed) {
        if (threadIdx.x % 128 == 0) barrier_arrive(barrier(q_empty + q_slot(q.stage, wg)));
        store_rows(done, o);
      } else {
        store_boxes(done, o, q.stage);
        if constexpr (C.q_stages == 1) {
          store_settle(0);
        } else {
          pending = q.stage;
        }
      }
      q.advance();
    }
    store_wait();
  }
};

template <AttentionConfig C>
__global__ void __launch_bounds__((C.warpgroups + 1) * 128, 1)
    attention_sm90(const __grid_constant__ AttentionArguments arguments) {
  extern __shared__ __align__(1024) unsigned char memory[];
  // By shuffle, so that the compiler knows it to be uniform: descriptors then live in uniform registers.
  const u32 shared = shared_address(memory), warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
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
    AttentionConsumer<C>{{block}}.consume();
    if (C.cycles && threadIdx.x % 128 == 0) note_end(arguments.cycles);
  }
  if constexpr (C.cluster > 1) cluster_sync();
}

}  // namespace napkin
