#pragma once
// Forward attention on Hopper. One producer warpgroup moves boxes with the copy engine; 1 to 3 consumer warpgroups of 64
// rows each compute S = Q K, the online softmax and O += P V. Knobs are those of attention_sm90.yaml; offsets and
// register counts come from the plan. Rows of a tile are (query, packed head), the head fastest.

#include "kernels/attention/dump.cuh"
#include "kernels/attention/tiles.cuh"
#include "kernels/device/clock.cuh"
#include "kernels/device/infinity.cuh"
#include "kernels/device/matrix.cuh"
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

  // Barriers, eight bytes each: full and empty of Q, of K and of V by copy, then the tile mailbox.
  static constexpr int q_full = 0, q_empty = C.q_stages, k_full = 2 * C.q_stages;
  static constexpr int k_empty = k_full + C.stages, v_full = k_empty + C.stages, v_empty = v_full + C.stages, mail_full = v_empty + C.stages, mail_empty = mail_full + 1;
  static constexpr int mailbox = mail_empty + 1, barrier_slots = mailbox + 1;

  u32 shared;
  const AttentionArguments& arguments;
  u32 wg;    // consumer warpgroup

  __device__ __forceinline__ u32 barrier(int slot) const { return shared + C.barriers_offset + 8 * slot; }

  __device__ __forceinline__ void initialise() const {
    for (int s = 0; s < C.q_stages; ++s) {
      barrier_init(barrier(q_full + s), 1);
      barrier_init(barrier(q_empty + s), C.warpgroups);
    }
    for (int s = 0; s < C.stages; ++s) {
      barrier_init(barrier(k_full + s), 1);
      barrier_init(barrier(v_full + s), 1);
      barrier_init(barrier(k_empty + s), C.warpgroups * C.cluster);
      barrier_init(barrier(v_empty + s), C.warpgroups * C.cluster);
    }
    barrier_init(barrier(mail_full), 1);
    barrier_init(barrier(mail_empty), C.warpgroups + 2);
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

  __device__ __forceinline__ void load_q(const Tile& tile, u32 copy) const {
    barrier_expect(barrier(q_full + copy), C.warpgroups * q_bytes);
#pragma unroll 1
    for (int w = 0; w < C.warpgroups; ++w) {
#pragma unroll 1
      for (int c = 0; c < C.d; c += d_span) {
        load_box(q_place(copy, w) + c * rows * 2, arguments.q_map, barrier(q_full + copy), evict_first, c,
                 tile.packed_head, tile.q_row + w * (rows / C.g), tile.head, tile.map_batch);
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

  // Draws tickets and posts them, one ahead of the block's work: longest_first only; one thread.
  __device__ __forceinline__ void schedule() const {
    u32 parity = 1;
    for (int next = 0; next < arguments.shape.tiles; parity ^= 1) {
      next = gridDim.x + atomicAdd(arguments.ticket, 1);
      barrier_wait(barrier(mail_empty), parity);
      post(barrier(mailbox), next);
      barrier_arrive(barrier(mail_full));
    }
    // The last block to finish leaves the counters at zero for the next launch.
    if (atomicInc(reinterpret_cast<u32*>(arguments.ticket) + 1, grid_blocks() - 1) == grid_blocks() - 1) *arguments.ticket = 0;
  }

  // The block's next tile, for a producer (Threads = 1) or a consumer warpgroup; `parity`: the mailbox's.
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
      barrier_wait(barrier(q_empty + q.stage), q.parity ^ 1);
      load_q(tile, q.stage);
      q.advance();
    }
  }

  // K runs one chunk ahead of V.
  __device__ __forceinline__ void produce_kv() const {
    Ring<C.stages> ring;
    u32 parity = 0;
    for (int index = blockIdx.x; index < arguments.shape.tiles; index = next_tile<1>(index, parity)) {
      const Tile tile = tile_of(index);
      if (tile.first >= tile.last) continue;
      const int first = tile.x_row + tile.first * C.x;
      int row = tile.x_row + (tile.last - 1) * C.x;
      load_k(tile, row, ring);
      for (; row > first; row -= C.x) {
        // Hides how often, which no pragma does: unrolled, the loop would spill the producer's few registers.
        asm volatile("" : "+r"(row));
        Ring<C.stages> next = ring;
        next.advance();
        load_k(tile, row - C.x, next);
        load_v(tile, row, ring);
        ring = next;
      }
      load_v(tile, first, ring);
      ring.advance();
    }
  }

  // ---- consumers ---------------------------------------------------------------------------------------------------

  __device__ __forceinline__ void release(u32 slot) const {
    if constexpr (C.cluster > 1) {
      if (threadIdx.x % 128 < C.cluster) barrier_arrive_remote(barrier(slot), threadIdx.x % 128);
    } else {
      if (threadIdx.x % 128 == 0) barrier_arrive(barrier(slot));
    }
  }

  // S = Q K: issues and commits.
  __device__ __forceinline__ void issue_scores(float (&s)[scores], u32 copy, u32 stage) const {
    const u32 a = q_place(copy, wg), b = shared + C.k_offset + stage * k_bytes;
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < C.d; k += 16) {
      const u32 span = k / d_span, inner = (k % d_span) * 2;
      wgmma<C.x, C.bf16, 0>(s, descriptor<d_span>(a + span * (rows * d_span * 2) + inner, 0),
                            descriptor<d_span>(b + span * (C.x * d_span * 2) + inner, 0), k != 0);
    }
    wgmma_commit();
  }

  // O += P V: issues and commits.
  __device__ __forceinline__ void issue_outputs(float (&o)[outputs], const u32 (&p)[probabilities], u32 stage,
                                                bool accumulate) const {
    const u32 a = shared + C.p_offset + wg * (rows * C.x * 2), b = shared + C.v_offset + stage * v_bytes;
    constexpr u32 leading = C.x * dv_span * 2;
    wgmma_fence();
#pragma unroll
    for (int k = 0; k < C.x; k += 16) {
      const u64 v = descriptor<dv_span>(b + k * (dv_span * 2), leading);
      if constexpr (C.p_shared) {
        const u32 span = k / x_span, inner = (k % x_span) * 2;
        wgmma<C.dv, C.bf16, 1>(o, descriptor<x_span>(a + span * (rows * x_span * 2) + inner, 0), v, accumulate || k != 0);
      } else {
        wgmma<C.dv, C.bf16, 1>(o, p + k / 4, v, accumulate || k != 0);
      }
    }
    wgmma_commit();
  }

  // P as the A operand of P V: pairs in registers, or in shared memory.
  __device__ __forceinline__ void convert(const float (&s)[scores], u32 (&p)[probabilities]) const {
#pragma unroll
    for (int i = 0; i < probabilities; ++i) p[i] = pack<C.bf16>(s[2 * i], s[2 * i + 1]);
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

  struct RowState {
    float maximum[2], sum[2], delta[2];
  };

  // One online softmax step (theory 4.2) on this thread's two rows; scores become exp(scale (s - maximum)).
  template <bool Masked>
  __device__ __forceinline__ void softmax(float (&s)[scores], RowState& state, const Tile& tile, int n) const {
    const float c = arguments.scale_log2;
    if constexpr (Masked) {
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
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float maximum = state.maximum[r];
#pragma unroll
      for (int i = 0; i < scores / 4; ++i) maximum = fmaxf(maximum, fmaxf(s[4 * i + 2 * r], s[4 * i + 2 * r + 1]));
      maximum = quad_max(maximum);
      const float shift = maximum == -infinity ? 0.f : maximum * c;
      state.delta[r] = exp2_fast(state.maximum[r] * c - shift);
      state.maximum[r] = maximum;
      float sum = 0;
#pragma unroll
      for (int i = 0; i < scores / 4; ++i) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          float& v = s[4 * i + 2 * r + e];
          v = exp2_fast(v * c - shift);
          sum += v;
        }
      }
      state.sum[r] = state.sum[r] * state.delta[r] + sum;
    }
  }

  __device__ __forceinline__ void softmax(float (&s)[scores], RowState& state, const Tile& tile, int n) const {
    if (n >= tile.whole_last || n < tile.whole_first) {
      softmax<true>(s, state, tile, n);
    } else {
      softmax<false>(s, state, tile, n);
    }
  }

  static __device__ __forceinline__ void rescale(float (&o)[outputs], const RowState& state) {
#pragma unroll
    for (int i = 0; i < outputs; ++i) o[i] *= state.delta[i / 2 % 2];
  }

  __device__ __forceinline__ void my_turn() const {
    if constexpr (C.pingpong) named_sync(1 + wg, 256);
  }
  __device__ __forceinline__ void next_turn() const {
    if constexpr (C.pingpong) named_arrive(1 + (wg + 1) % C.warpgroups, 256);
  }

  // O for one tile from that copy of Q. `ring` is V's position; K's is one further inside the loop. `pending`: the copy
  // of Q whose O the last tile is still storing.
  __device__ __forceinline__ void attend(const Tile& tile, float (&o)[outputs], RowState& state, Ring<C.stages>& ring,
                                         u32 copy, int pending) const {
    float s[scores];
    u32 p[probabilities];
    barrier_wait(barrier(k_full + ring.stage), ring.parity);
    issue_scores(s, copy, ring.stage);
    store_settle(pending);
    wgmma_wait<0>();
    pin(s);
    release(k_empty + ring.stage);
    note_scores(tile, tile.last - 1, s);
    softmax(s, state, tile, tile.last - 1);
    convert(s, p);
    note_softmax(tile, tile.last - 1, p, state);
    bool accumulate = false;
    for (int n = tile.last - 2; n >= tile.first; --n) {
      Ring<C.stages> next = ring;
      next.advance();
      barrier_wait(barrier(k_full + next.stage), next.parity);
      if constexpr (C.overlap) {
        my_turn();
        issue_scores(s, copy, next.stage);
        barrier_wait(barrier(v_full + ring.stage), ring.parity);
        issue_outputs(o, p, ring.stage, accumulate);
        next_turn();
        wgmma_wait<1>();
        pin(s);
        release(k_empty + next.stage);
        note_scores(tile, n, s);
        softmax(s, state, tile, n);
        wgmma_wait<0>();
        pin(o);
        pin(p);
        release(v_empty + ring.stage);
      } else {
        barrier_wait(barrier(v_full + ring.stage), ring.parity);
        my_turn();
        issue_outputs(o, p, ring.stage, accumulate);
        wgmma_wait<0>();
        pin(o);
        pin(p);
        release(v_empty + ring.stage);
        issue_scores(s, copy, next.stage);
        next_turn();
        wgmma_wait<0>();
        pin(s);
        release(k_empty + next.stage);
        note_scores(tile, n, s);
        softmax(s, state, tile, n);
      }
      ring = next;
      note_outputs(tile, n + 1, o);
      rescale(o, state);
      convert(s, p);
      note_softmax(tile, n, p, state);
      accumulate = true;
    }
    barrier_wait(barrier(v_full + ring.stage), ring.parity);
    issue_outputs(o, p, ring.stage, accumulate);
    wgmma_wait<0>();
    pin(o);
    release(v_empty + ring.stage);
    note_outputs(tile, tile.first, o);
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
          const float value = z > 0 ? state.maximum[r] * arguments.scale + __logf(z) : -infinity;
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
      barrier_arrive(barrier(q_empty + pending));
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
      barrier_wait(barrier(q_full + q.stage), q.parity);
      attend(tile, o, state, ring, q.stage, pending);
      // Found again rather than kept: the loop needs the registers.
      asm volatile("" : "+r"(index));
      const Tile done = tile_of(index);
      finish(done, o, state);
      note_outputs(done, chunks(), o);
      if constexpr (C.packed) {
        if (threadIdx.x % 128 == 0) barrier_arrive(barrier(q_empty + q.stage));
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
    } else if (C.order == TileOrder::longest_first && threadIdx.x == 64) {
      kernel.schedule();
    }
  } else {
    registers_grow<C.consumer_registers>();
    kernel.consume();
    if (C.cycles && threadIdx.x % 128 == 0) note_end(arguments.cycles);
  }
  if constexpr (C.cluster > 1) cluster_sync();
}

}  // namespace napkin
