#pragma once
// Forward attention on Hopper. One producer warpgroup moves boxes with the copy engine; 1 to 3 consumer warpgroups of 64
// rows each compute S = Q K, the online softmax and O += P V. Knobs are those of attention_sm90.yaml; offsets and
// register counts come from the plan. Rows of a tile are (query, packed head), the head fastest.

#include "kernels/attention/dump.cuh"
#include "kernels/attention/tiles.cuh"
#include "kernels/device/clock.cuh"
#include "kernels/device/infinity.cuh"
#include "kernels/device/matrix.cuh"
#include "kernels/device/mma.cuh"
#include "kernels/device/tma.cuh"

namespace napkin {

template <AttentionConfig C>
struct Attention {
  static constexpr int rows = 64;  // of a consumer warpgroup
  static constexpr int d_span = swizzle_columns(C.d), dv_span = swizzle_columns(C.dv), x_span = swizzle_columns(C.x);
  static constexpr u32 q_bytes = rows * C.d * 2, o_bytes = rows * C.dv * 2;
  static constexpr u32 place_bytes = q_bytes > o_bytes ? q_bytes : o_bytes;  // O is staged where its Q was
  static constexpr u32 k_bytes = C.x * C.d * 2, v_bytes = C.x * C.dv * 2;
  static constexpr int consumers = C.warpgroups * 128;
  static constexpr int scores = C.x / 2, outputs = C.dv / 2, probabilities = C.x / 4;  // registers a thread
  // With rescale_rarely P is exp2(scores - maximum - headroom) in powers of two: a maximum that is kept may be passed by
  // as much before P leaves [0, 2). fp16 has no room for it below.
  static constexpr float headroom = C.rescale_rarely && C.bf16 ? 8.f : 0.f;

  // Barriers, eight bytes each: full and empty of Q by copy and warpgroup, of K and of V by copy, then the tile mailbox.
  static constexpr int q_copies = C.q_stages * C.warpgroups;
  static constexpr int q_full = 0, q_empty = q_copies, k_full = 2 * q_copies;
  static constexpr int k_empty = k_full + C.stages, v_full = k_empty + C.stages, v_empty = v_full + C.stages, mail_full = v_empty + C.stages, mail_empty = mail_full + 1;
  static constexpr int mailbox = mail_empty + 1, barrier_slots = mailbox + 1;

  u32 shared;
  const AttentionArguments& arguments;
  u32 wg;    // consumer warpgroup

  __device__ __forceinline__ u32 barrier(int slot) const { return shared + C.barriers_offset + 8 * slot; }

  __device__ __forceinline__ void initialise() const {
    for (int s = 0; s < q_copies; ++s) {
      barrier_init(barrier(q_full + s), 1);
      barrier_init(barrier(q_empty + s), 1);
    }
    for (int s = 0; s < C.stages; ++s) {
      barrier_init(barrier(k_full + s), 1);
      barrier_init(barrier(v_full + s), 1);
      barrier_init(barrier(k_empty + s), C.warpgroups * 4 * C.cluster);
      barrier_init(barrier(v_empty + s), C.warpgroups * C.cluster);
    }
    barrier_init(barrier(mail_full), 1);
    barrier_init(barrier(mail_empty), C.warpgroups + 1);
    barrier_init_fence();
  }

  // ---- tiles -------------------------------------------------------------------------------------------------------

  __device__ __forceinline__ Tile tile_of(int index) const {
    return find_tile<C.q, C.x, C.g, C.order, C.mask, C.packed>(arguments.shape, index);
  }

  // ---- producer: one thread each ------------------------------------------------------------------------------------

  __device__ __forceinline__ u32 q_place(u32 copy, u32 warpgroup) const {
    return shared + C.q_offset + (copy * C.warpgroups + warpgroup) * place_bytes;
  }

  static __device__ __forceinline__ u32 q_slot(u32 copy, u32 warpgroup) { return copy * C.warpgroups + warpgroup; }

  // Each warpgroup's rows by themselves: one that has stored its O begins its next tile while another still works.
  __device__ __forceinline__ void load_q(const Tile& tile, const Ring<C.q_stages>& at) const {
#pragma unroll 1
    for (int w = 0; w < C.warpgroups; ++w) {
      const u32 slot = q_slot(at.stage, w), full = barrier(q_full + slot);
      barrier_wait(barrier(q_empty + slot), at.parity ^ 1);
      barrier_expect(full, q_bytes);
#pragma unroll 1
      for (int c = 0; c < C.d; c += d_span) {
        load_box(q_place(at.stage, w) + c * rows * 2, arguments.q_map, full, evict_first, c, tile.packed_head,
                 tile.q_row + w * (rows / C.g), tile.head, tile.map_batch);
      }
    }
  }

  template <int D>
  __device__ __forceinline__ void load_chunk(const TensorMap& map, u32 to, u32 full, const Tile& tile, int row) const {
    constexpr int span = swizzle_columns(D), part = C.x / C.cluster;
    barrier_expect(full, C.x * D * 2);
    const u32 rank = C.cluster > 1 ? cluster_rank() : 0;
    const int first = row + static_cast<int>(rank) * part;
#pragma unroll 1
    for (int c = 0; c < D; c += span) {
      const u32 place = to + c * C.x * 2 + rank * (part * span * 2);
      if constexpr (C.cluster > 1) {
        load_box_multicast(place, map, full, evict_last, (1 << C.cluster) - 1, c, first, tile.head, tile.map_batch);
      } else {
        load_box(place, map, full, evict_last, c, first, tile.head, tile.map_batch);
      }
    }
  }

  __device__ __forceinline__ void load_k(const Tile& tile, int row, const Ring<C.stages>& at) const {
    barrier_wait(barrier(k_empty + at.stage), at.parity ^ 1);
    load_chunk<C.d>(arguments.k_map, shared + C.k_offset + at.stage * k_bytes, barrier(k_full + at.stage), tile, row);
  }
  __device__ __forceinline__ void load_v(const Tile& tile, int row, const Ring<C.stages>& at) const {
    barrier_wait(barrier(v_empty + at.stage), at.parity ^ 1);
    load_chunk<C.dv>(arguments.v_map, shared + C.v_offset + at.stage * v_bytes, barrier(v_full + at.stage), tile, row);
  }

  __device__ __forceinline__ int draw() const { return grid_blocks() + atomicAdd(arguments.ticket, 1); }

  // Tells the block's other threads.
  __device__ __forceinline__ void announce(int next, u32& parity) const {
    barrier_wait(barrier(mail_empty), parity ^ 1);
    post(barrier(mailbox), next);
    barrier_arrive(barrier(mail_full));
    parity ^= 1;
    // The last block to finish leaves the counters at zero for the next launch.
    if (next >= arguments.shape.tiles && atomicInc(reinterpret_cast<u32*>(arguments.ticket) + 1, grid_blocks() - 1) == grid_blocks() - 1) *arguments.ticket = 0;
  }

  // The block's next tile, for the producer of Q (Threads = 1) or a consumer warpgroup; `parity`: the mailbox's.
  template <int Threads>
  __device__ __forceinline__ int next_tile(int current, u32& parity) const {
    if constexpr (C.order == TileOrder::grid) return arguments.shape.tiles;
    if constexpr (C.order == TileOrder::persistent) return current + grid_blocks();
    barrier_wait(barrier(mail_full), parity);
    const int next = read(barrier(mailbox));
    if constexpr (Threads > 1) named_sync(6 + wg, Threads);
    if (Threads == 1 || threadIdx.x % 128 == 0) barrier_arrive(barrier(mail_empty));
    parity ^= 1;
    return next;
  }

  // One thread for Q and one for K and V: the next tile's K and V arrive while this tile's O still occupies Q's place.
  __device__ __forceinline__ void produce_q() const {
    Ring<C.q_stages> q;
    u32 parity = 0;
    for (int index = blockIdx.x; index < arguments.shape.tiles; index = next_tile<1>(index, parity)) {
      const Tile tile = tile_of(index);
      if (tile.first >= tile.last) continue;
      load_q(tile, q);
      q.advance();
    }
  }

  // K runs one chunk ahead of V. longest_first: this thread draws the block's tiles, each when the last one's loads have
  // been asked for and not before, so that what is long goes to who is free.
  __device__ __forceinline__ void produce_kv() const {
    Ring<C.stages> ring;
    u32 parity = 0;
    int next;
    for (int index = blockIdx.x; index < arguments.shape.tiles; index = next) {
      const Tile tile = tile_of(index);
      const int first = tile.x_row + tile.first * C.x;
      int row = tile.x_row + (tile.last - 1) * C.x;
      if (row >= first) {
        load_k(tile, row, ring);
        for (; row > first; row -= C.x) {
          // Hides how often, which no pragma does: unrolled, the loop would spill the producer's few registers.
          asm volatile("" : "+r"(row));
          Ring<C.stages> ahead = ring;
          ahead.advance();
          load_k(tile, row - C.x, ahead);
          load_v(tile, row, ring);
          ring = ahead;
        }
      }
      if constexpr (C.order == TileOrder::longest_first) next = draw();
      if (row >= first) {
        load_v(tile, first, ring);
        ring.advance();
      }
      if constexpr (C.order == TileOrder::longest_first) {
        announce(next, parity);
      } else {
        next = next_tile<1>(index, parity);
      }
    }
  }

  // ---- consumers ---------------------------------------------------------------------------------------------------

  // One arrival of every `Threads`, to each block of the cluster: V's stages by warpgroup; K's by warp, since a warp may
  // read its chunk again.
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

  // S = Q K: issues and commits.
  __device__ __forceinline__ void issue_scores(float (&s)[scores], u32 copy, u32 stage) const {
    const u32 a = q_place(copy, wg) >> 4, b = (shared + C.k_offset + stage * k_bytes) >> 4;
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
    const u32 a = (shared + C.p_offset + wg * (rows * C.x * 2)) >> 4, b = (shared + C.v_offset + stage * v_bytes) >> 4;
    constexpr u32 leading = C.x * dv_span * 2 >> 4;
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < C.x; k += 16) {
      const u64 v = descriptor<dv_span>(b + (k * (dv_span * 2) >> 4), leading);
      if constexpr (C.p_shared) {
        const u32 span = k / x_span, inner = (k % x_span) * 2;
        wgmma<C.dv, C.bf16, 1>(o, descriptor<x_span>(a + ((span * (rows * x_span * 2) + inner) >> 4), 0), v, accumulate || k != 0);
      } else {
        wgmma<C.dv, C.bf16, 1>(o, p + k / 4, v, accumulate || k != 0);
      }
    }
    wgmma_commit();
  }

  // P as pairs of the A operand of P V.
  static __device__ __forceinline__ void convert(const float (&s)[scores], u32 (&p)[probabilities]) {
#pragma unroll
    for (int i = 0; i < probabilities; ++i) p[i] = pack<C.bf16>(s[2 * i], s[2 * i + 1]);
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

  // What this thread knows of its two rows. P is exp2(scale log2(e) (score - maximum) - headroom).
  struct RowState {
    float maximum[2], sum[2], delta[2];
  };

  // What the mask hides becomes -infinity.
  __device__ __forceinline__ void hide(float (&s)[scores], const Tile& tile, int n) const {
    const u32 lane = threadIdx.x % 32, row = wg * rows + threadIdx.x % 128 / 32 * 16 + lane / 4;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const Span seen = seen_by<C.mask>(arguments.shape, tile, tile.q_first + static_cast<int>(row + 8 * r) / C.g);
      const int own = n * C.x + static_cast<int>(lane % 4) * 2, first = seen.first - own, last = seen.last - own;
#pragma unroll
      for (int i = 0; i < scores / 4; ++i) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          if (8 * i + e >= last || (C.mask == MaskKind::window && 8 * i + e < first)) s[4 * i + 2 * r + e] = -infinity;
        }
      }
    }
  }

  // Scores become P; `sum` its row sums.
  __device__ __forceinline__ void exponentials(float (&s)[scores], const RowState& state, float (&sum)[2]) const {
    const float c = arguments.scale_log2;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float shift = state.maximum[r] == -infinity ? 0.f : state.maximum[r] * c + headroom;
      sum[r] = 0;
#pragma unroll
      for (int i = 0; i < scores / 4; ++i) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& v = s[4 * i + 2 * r + e];
          v = exp2_fast(v * c - shift);
          sum[r] += v;
        }
      }
    }
  }

  // One online softmax step (theory 4.2) on this thread's two rows. With rescale_rarely a maximum stays until one passes
  // it by the headroom.
  __device__ __forceinline__ void softmax(float (&s)[scores], RowState& state) const {
    const float c = arguments.scale_log2;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float maximum = state.maximum[r];
#pragma unroll
      for (int i = 0; i < scores / 4; ++i) maximum = fmaxf(maximum, fmaxf(s[4 * i + 2 * r], s[4 * i + 2 * r + 1]));
      maximum = quad_max(maximum);
      if constexpr (C.rescale_rarely) maximum = (maximum - state.maximum[r]) * c > headroom ? maximum : state.maximum[r];
      const float shift = maximum == -infinity ? 0.f : maximum * c;
      state.delta[r] = exp2_fast(state.maximum[r] * c - shift);
      state.maximum[r] = maximum;
    }
    float sum[2];
    exponentials(s, state, sum);
#pragma unroll
    for (int r = 0; r < 2; ++r) state.sum[r] = state.sum[r] * state.delta[r] + sum[r];
  }

  // Whether some P of this warp is 2 or more, or no number: a 16-bit float's highest exponent bit.
  static __device__ __forceinline__ bool passed(const u32 (&p)[probabilities]) {
    u32 bits = 0;
#pragma unroll
    for (int i = 0; i < probabilities; ++i) bits |= p[i];
    return __any_sync(0xffffffffu, (bits & 0x40004000u) != 0);
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

  static __device__ __forceinline__ void rescale(float (&o)[outputs], const RowState& state) {
    if constexpr (C.rescale_rarely) {
      if (!__any_sync(0xffffffffu, state.delta[0] != 1.f || state.delta[1] != 1.f)) return;
    }
#pragma unroll
    for (int i = 0; i < outputs; ++i) o[i] *= state.delta[i / 2 % 2];
  }

  __device__ __forceinline__ void my_turn() const {
    if constexpr (C.pingpong) named_sync(1 + wg, 256);
  }
  __device__ __forceinline__ void next_turn() const {
    if constexpr (C.pingpong) named_arrive(1 + (wg + 1) % C.warpgroups, 256);
  }

  // What happens to a chunk's scores until its P is ready, in two parts: the first beside the last chunk's product, the
  // second behind it. With a kept maximum a chunk that all rows see in full needs neither maximum nor rescaling, unless
  // one of its exponentials passes the headroom.
  struct Chunk {
    bool plain;
    float sum[2];
  };

  __device__ __forceinline__ Chunk begin_softmax(float (&s)[scores], RowState& state, const Tile& tile, int n, bool& settled) const {
    const bool whole = n < tile.whole_last && n >= tile.whole_first;
    Chunk chunk{C.rescale_rarely && whole && settled, {0, 0}};
    if (chunk.plain) {
      exponentials(s, state, chunk.sum);
    } else {
      if (!whole) hide(s, tile, n);
      softmax(s, state);
      if constexpr (C.rescale_rarely) settled = __all_sync(0xffffffffu, state.maximum[0] != -infinity && state.maximum[1] != -infinity);
    }
    return chunk;
  }

  __device__ __forceinline__ void end_softmax(float (&s)[scores], u32 (&p)[probabilities], float (&o)[outputs], RowState& state, const Chunk& chunk,
                                              u32 copy, u32 stage) const {
    if (!chunk.plain) rescale(o, state);
    convert(s, p);
    if constexpr (C.rescale_rarely) {
      if (chunk.plain) {
        if (passed(p)) {
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
    barrier_wait(barrier(k_full + ring.stage), ring.parity);
    issue_scores(s, copy, ring.stage);
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
        issue_scores(s, copy, next.stage);
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
        issue_scores(s, copy, next.stage);
        next_turn();
        wgmma_wait<0>();
        scores_done(s, next.stage);
        note_scores(tile, n, s);
        chunk = begin_softmax(s, state, tile, n, settled);
      }
      note_outputs(tile, n + 1, o);
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
    return arguments.dump + tile_number<C.q, C.g>(arguments.shape, tile) * layout.tile_size() + n * layout.chunk_size() + row * at().pitch;
  }

  __device__ __forceinline__ void note_scores(const Tile& tile, int n, const float (&s)[scores]) const {
    if constexpr (C.dump) {
      write_fragment<scores>(noted(tile, n) + at().s, at().pitch, [&](int i) { return s[i]; });
    }
  }

  // P as it is multiplied, and the state behind this chunk.
  __device__ __forceinline__ void note_softmax(const Tile& tile, int n, const u32 (&p)[probabilities], const RowState& state) const {
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
      if constexpr (C.log_sum_exp) {
        const int query = tile.q_first + static_cast<int>(row + 8 * r) / C.g, head = tile.packed_head + (row + 8 * r) % C.g;
        if (lane % 4 == 0 && query < tile.queries) {
          const float value = z > 0 ? (state.maximum[r] * arguments.scale + headroom * 0.693147181f) + __logf(z) : -infinity;
          arguments.lse[lse_index<C.packed>(arguments.shape, tile, head, query)] = value;
        }
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
      store_matrices(base + swizzled<rows, dv_span>(row, c + column), pack<C.bf16>(v[0], v[1]), pack<C.bf16>(v[2], v[3]),
                     pack<C.bf16>(v[4], v[5]), pack<C.bf16>(v[6], v[7]));
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
      const int query = tile.q_first + static_cast<int>(row + 8 * r) / C.g, head = tile.packed_head + (row + 8 * r) % C.g;
      if (query >= tile.queries) continue;
      u32* to = reinterpret_cast<u32*>(static_cast<unsigned short*>(arguments.o) +
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
    for (int index = blockIdx.x; index < arguments.shape.tiles; index = next_tile<128>(index, parity)) {
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
  using Kernel = Attention<C>;
  // By shuffle, so that the compiler knows it to be uniform: descriptors then live in uniform registers.
  const u32 shared = shared_address(memory), warpgroup = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0);
  Kernel kernel{shared, arguments, warpgroup - 1};
  if (C.cycles && threadIdx.x == 0) note_start(arguments.cycles);
  if (threadIdx.x == 0) kernel.initialise();
  if constexpr (C.cluster > 1) {
    cluster_sync();
  } else {
    __syncthreads();
  }
  if (warpgroup == 0) {
    registers_shrink<C.producer_registers>();
    if (threadIdx.x == 0) {
      kernel.produce_kv();
    } else if (threadIdx.x == 32) {
      kernel.produce_q();
    }
  } else {
    registers_grow<C.consumer_registers>();
    kernel.consume();
    if (C.cycles && threadIdx.x % 128 == 0) note_end(arguments.cycles);
  }
  if constexpr (C.cluster > 1) cluster_sync();
}

}  // namespace napkin
