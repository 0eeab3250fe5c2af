#pragma once
// Forward attention on Ampere and later. Every warp copies, multiplies and computes: cp.async, ldmatrix, mma.sync of 16
// rows a step, softmax and accumulators in registers. Knobs are those of attention_sm80.yaml; offsets come
// from the plan.

#include "kernels/attention/arguments_sm80.cuh"
#include "kernels/attention/dump.cuh"
#include "kernels/attention/tiles.cuh"
#include "kernels/device/clock.cuh"
#include "kernels/device/cp_async.cuh"
#include "kernels/device/infinity.cuh"
#include "kernels/device/mma.cuh"
#include "kernels/device/softmax.cuh"

namespace napkin {

// Rows of `Columns` 16-bit elements in shared memory. Within a span of eight units of 16 bytes (four, where eight do
// not divide the row) units are permuted by row, so that the same unit of eight rows that follow each other lies in all
// banks.
template <int Columns, bool Swizzle>
struct SharedRows {
  static constexpr u32 pitch = Columns * 2, span = Columns % 64 == 0 ? 128 : 64;

  static __device__ __forceinline__ u32 at(u32 row, u32 unit) {
    const u32 permuted = !Swizzle ? 0 : span == 128 ? row % 8 : row / 2 % 4;
    return row * pitch + ((unit ^ permuted) * 16);
  }
  // An address of at() with unit 0 or 1, moved by an even number of units: a constant, so one XOR or an immediate
  // offset.
  static __device__ __forceinline__ u32 along(u32 address, u32 units) {
    return (address ^ (units * 16 % span)) + units * 16 / span * span;
  }
};

template <AttentionSm80Config C>
struct AttentionSm80 {
  static constexpr int threads = C.warps * 32;
  static constexpr int steps = C.q / (16 * C.warps);  // of 16 rows, a warp

  static constexpr int columns = C.x / 16, inner = C.d / 16, outer = C.dv / 16;  // operand loads along x, d and dv
  static constexpr u32 k_bytes = C.x * C.d * 2, v_bytes = C.x * C.dv * 2;
  using QRows = SharedRows<C.d, C.swizzle>;
  using KRows = SharedRows<C.d, C.swizzle>;
  using VRows = SharedRows<C.dv, C.swizzle>;
  using Element = unsigned short;
  static_assert(C.q % (16 * C.warps) == 0 && C.x % 16 == 0 && C.d % 32 == 0 && C.dv % 32 == 0);
  static_assert((C.q_offset | C.k_offset | C.v_offset | C.o_offset) % 128 == 0);

  // Two a thread and step. Exponentials are 2^(s scale log2 e - shift); sums are of this thread's columns until the
  // end. The first shift is finite, so that a row that has seen nothing yet meets no infinity less infinity.
  struct Rows {
    float shift[steps][2], sum[steps][2];
  };
  static __device__ constexpr float first_shift() { return -1e30f; }

  const AttentionSm80Arguments& arguments;
  const Tile& tile;
  u32 shared;
  const Element *k, *v;  // of this sequence and head

  __device__ __forceinline__ AttentionSm80(const AttentionSm80Arguments& a, const Tile& t, u32 memory)
      : arguments(a), tile(t), shared(memory) {
    k = first_row(a.k, a.k_strides, tile.head, tile.x_row);
    v = first_row(a.v, a.v_strides, tile.head, tile.x_row);
  }

  // What ldmatrix reads first. Found anew with each chunk: kept, it would take registers that the accumulators need.
  // A operand: rows 0-7 and 8-15 of the first 8 columns, then of the next 8; V, transposed on its way, likewise.
  template <class R>
  __device__ __forceinline__ u32 rows_first(u32 offset) const {
    const u32 lane = lane_id();
    return shared + offset + R::at(lane % 16, lane / 16);
  }
  // K: 8 rows with both their units, then the next 8.
  __device__ __forceinline__ u32 units_first(u32 offset) const {
    const u32 lane = lane_id();
    return shared + offset + KRows::at(lane % 8 + lane / 16 * 8, lane / 8 % 2);
  }

  // Rows before this warp's own.
  static __device__ __forceinline__ u32 warp_rows() { return thread_id() / 32 * (16 * steps); }

  // ---- device memory to shared memory ------------------------------------------------------------------------------

  __device__ __forceinline__ const Element* first_row(const void* array, const Strides& strides, int head,
                                                      int row) const {
    return static_cast<const Element*>(array) + tile.map_batch * strides.batch + head * strides.head +
           row * strides.row;
  }

  // Rows `row` to `row` + Count of `array`. A row's span is copied by neighbouring threads, 16 bytes each: whole
  // sectors, and no bank met twice. Rows from `end` on, another sequence's or nobody's, are zeros: P = 0 times NaN
  // would be NaN.
  template <int Columns, int Count, bool Ragged>
  __device__ __forceinline__ void load(u32 to, const Element* array, long long stride, int row, int end) const {
    using R = SharedRows<Columns, C.swizzle>;
    constexpr int lanes = R::span / 16, pass = threads / lanes;  // threads a row; rows at a time
    const int first = thread_id() / lanes, unit = thread_id() % lanes;
    const Element* from = array + (row + first) * stride + unit * 8;
#pragma unroll
    for (int r = 0; r < Count; r += pass, from += pass * stride) {
      if (Count % pass != 0 && r + pass > Count && r + first >= Count) break;
      const u32 place = to + R::at(r + first, unit);
#pragma unroll
      for (int c = 0; c < Columns * 2; c += R::span) {
        if constexpr (Ragged) {
          const bool inside = row + r + first < end;
          copy_async_or_zero(place + c, inside ? from + c / 2 : array, inside);
        } else {
          copy_async(place + c, from + c / 2);
        }
      }
    }
  }

  __device__ __forceinline__ void load_q() const {
    const int head = tile.head * arguments.shape.g + tile.packed_head;
    const Element* q = first_row(arguments.q, arguments.q_strides, head, tile.q_start);
    load<C.d, C.q, true>(shared + C.q_offset, q, arguments.q_strides.row, tile.q_first, tile.queries);
  }
  template <bool Ragged>
  __device__ __forceinline__ void load_k(int n) const {
    load<C.d, C.x, Ragged>(shared + C.k_offset + n % C.stages * k_bytes, k, arguments.k_strides.row, n * C.x,
                           tile.keys);
  }
  template <bool Ragged>
  __device__ __forceinline__ void load_v(int n) const {
    load<C.dv, C.x, Ragged>(shared + C.v_offset + n % C.stages * v_bytes, v, arguments.v_strides.row, n * C.x,
                            tile.keys);
  }

  // ---- products ----------------------------------------------------------------------------------------------------

  using QFragments = u32[C.q_registers ? inner : 1][steps][4];

  __device__ __forceinline__ u32 q_rows() const { return rows_first<QRows>(C.q_offset + warp_rows() * QRows::pitch); }
  __device__ __forceinline__ void load_q_fragments(u32 (&q)[steps][4], u32 q_lane, int k16) const {
#pragma unroll
    for (int m = 0; m < steps; ++m) load_matrices(q[m], QRows::along(q_lane, 2 * k16) + m * 16 * QRows::pitch);
  }

  // S = Q K. The assembler moves the loads ahead of the products as far as registers go.
  __device__ __forceinline__ void scores(float (&s)[steps][C.x / 8][4], const QFragments& kept, int chunk) const {
    const u32 base = units_first(C.k_offset + chunk % C.stages * k_bytes), q_lane = C.q_registers ? 0 : q_rows();
#pragma unroll
    for (int m = 0; m < steps; ++m) {
#pragma unroll
      for (int i = 0; i < C.x / 8; ++i) {
#pragma unroll
        for (int e = 0; e < 4; ++e) s[m][i][e] = 0;
      }
    }
#pragma unroll
    for (int k16 = 0; k16 < inner; ++k16) {
      u32 q[steps][4];
      if constexpr (!C.q_registers) load_q_fragments(q, q_lane, k16);
#pragma unroll
      for (int n = 0; n < columns; ++n) {
        u32 b[4];
        load_matrices(b, KRows::along(base, 2 * k16) + n * 16 * KRows::pitch);
#pragma unroll
        for (int m = 0; m < steps; ++m) {
          const u32* a = C.q_registers ? kept[C.q_registers ? k16 : 0][m] : q[m];
          mma<C.bf16>(s[m][2 * n], a, b[0], b[1]);
          mma<C.bf16>(s[m][2 * n + 1], a, b[2], b[3]);
        }
      }
    }
  }

  // The i-th of this thread's scores in 16 columns becomes exp(scale s) over 2^shift.
  __device__ __forceinline__ void exponential(float (&s)[steps][C.x / 8][4], Rows& rows, int k16, int i) const {
    const int m = i % steps, e = i / steps;
    float& value = s[m][2 * k16 + e / 4][e % 4];
    value = exp2_fast(value * arguments.scale_log2 - rows.shift[m][e / 2 % 2]);
    rows.sum[m][e / 2 % 2] += value;
  }

  // O += P V. The exponentials of the next 16 columns are spread over the products of these: they fill the issue slots
  // that the tensor cores leave.
  __device__ __forceinline__ void outputs(float (&o)[steps][C.dv / 8][4], float (&s)[steps][C.x / 8][4], Rows& rows,
                                          int chunk) const {
    constexpr int batch = 8 * steps;
    const u32 base = rows_first<VRows>(C.v_offset + chunk % C.stages * v_bytes);
#pragma unroll
    for (int i = 0; i < batch; ++i) exponential(s, rows, 0, i);
#pragma unroll
    for (int k16 = 0; k16 < columns; ++k16) {
      u32 p[steps][4];
#pragma unroll
      for (int m = 0; m < steps; ++m) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          p[m][i] = pack<C.bf16>(s[m][2 * k16 + i / 2][i % 2 * 2], s[m][2 * k16 + i / 2][i % 2 * 2 + 1]);
        }
      }
#pragma unroll
      for (int n = 0; n < outer; ++n) {
        u32 b[4];
        load_matrices_transposed(b, VRows::along(base, 2 * n) + k16 * 16 * VRows::pitch);
#pragma unroll
        for (int m = 0; m < steps; ++m) {
          mma<C.bf16>(o[m][2 * n], p[m], b[0], b[1]);
          mma<C.bf16>(o[m][2 * n + 1], p[m], b[2], b[3]);
        }
        if (k16 + 1 < columns) {
#pragma unroll
          for (int i = n * batch / outer; i < (n + 1) * batch / outer; ++i) exponential(s, rows, k16 + 1, i);
        }
      }
    }
  }

  // ---- softmax -----------------------------------------------------------------------------------------------------

  __device__ __forceinline__ int query_of(int m, int r) const {
    return tile.q_first + static_cast<int>(warp_rows() + m * 16 + lane_id() / 4 + r * 8);
  }

  __device__ __forceinline__ void apply_mask(float (&s)[steps][C.x / 8][4], int n) const {
    int own = n * C.x + static_cast<int>(lane_id() % 4) * 2, top = query_of(0, 0);
    // Or what each row sees would wait in registers for the next masked chunk.
    asm volatile("" : "+r"(top));
#pragma unroll
    for (int m = 0; m < steps; ++m) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const Span seen = seen_by<C.mask>(arguments.shape, tile, top + m * 16 + r * 8);
        const int first = seen.first - own, last = seen.last - own;
#pragma unroll
        for (int i = 0; i < C.x / 8; ++i) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            if (8 * i + e >= last || (C.mask == MaskKind::window && 8 * i + e < first)) s[m][i][2 * r + e] = -infinity;
          }
        }
      }
    }
  }

  // Brings the shifts to the new maxima, O and the sums with them. (online softmax, theory 4.2) A shift may lag behind
  // its maximum as long as the exponentials stay within 2^8: O and the sum are divided by each other in the end.
  __device__ __forceinline__ void advance(const float (&s)[steps][C.x / 8][4], float (&o)[steps][C.dv / 8][4],
                                          Rows& rows) const {
    float maximum[steps][2];
    bool outgrown = false;
#pragma unroll
    for (int m = 0; m < steps; ++m) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float high = s[m][0][2 * r];
#pragma unroll
        for (int i = 0; i < C.x / 8; ++i) high = fmaxf(high, fmaxf(s[m][i][2 * r], s[m][i][2 * r + 1]));
        maximum[m][r] = high * arguments.scale_log2;
        outgrown |= maximum[m][r] > rows.shift[m][r] + 8;
      }
    }
    if (C.rescale_rarely && !__any_sync(0xffffffffu, outgrown)) return;
#pragma unroll
    for (int m = 0; m < steps; ++m) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float next = fmaxf(quad_max(maximum[m][r]), rows.shift[m][r]);
        const float delta = exp2_fast(rows.shift[m][r] - next);
        rows.shift[m][r] = next;
        rows.sum[m][r] *= delta;
#pragma unroll
        for (int i = 0; i < C.dv / 8; ++i) {
          o[m][i][2 * r] *= delta;
          o[m][i][2 * r + 1] *= delta;
        }
      }
    }
  }

  // ---- debug variant: intermediates of every tile and chunk --------------------------------------------------------

  static __device__ constexpr AttentionDump at() { return attention_dump(C.x, C.dv); }

  __device__ __forceinline__ int chunks() const { return (arguments.shape.x + C.x - 1) / C.x; }

  // Where 16 of this warp's rows of that chunk begin.
  __device__ __forceinline__ float* noted(int n, int m) const {
    const DumpLayout layout{C.q, at().pitch, chunks()};
    const int row = static_cast<int>(warp_rows()) + m * 16;
    return arguments.dump + tile_number<C.q, 1>(arguments.shape, tile) * layout.tile_size() + n * layout.chunk_size() +
           row * at().pitch;
  }

  __device__ __forceinline__ void note_scores(int n, const float (&s)[steps][C.x / 8][4]) const {
    if constexpr (C.dump) {
#pragma unroll
      for (int m = 0; m < steps; ++m) {
        write_fragment<C.x / 2>(noted(n, m) + at().s, at().pitch, [&](int i) { return s[m][i / 4][i % 4]; });
      }
    }
  }

  // Chunk chunks(): the finished O.
  __device__ __forceinline__ void note_outputs(int n, const float (&o)[steps][C.dv / 8][4]) const {
    if constexpr (C.dump) {
#pragma unroll
      for (int m = 0; m < steps; ++m) {
        write_fragment<C.dv / 2>(noted(n, m) + at().o, at().pitch, [&](int i) { return o[m][i / 4][i % 4]; });
      }
    }
  }

  // P as it is multiplied, the state behind this chunk and O with it. The shift stands for mu; the first one, which no
  // score made, for -infinity.
  __device__ __forceinline__ void note_chunk(int n, const float (&s)[steps][C.x / 8][4], const Rows& before,
                                             const Rows& rows, const float (&o)[steps][C.dv / 8][4]) const {
    if constexpr (C.dump) {
      note_outputs(n, o);
#pragma unroll
      for (int m = 0; m < steps; ++m) {
        float* to = noted(n, m);
        write_fragment<C.x / 2>(to + at().p, at().pitch,
                                [&](int i) { return unpack<C.bf16>(pack<C.bf16>(s[m][i / 4][i % 4], 0), false); });
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          const float z = quad_sum(rows.sum[m][r]), earlier = before.shift[m][r], now = rows.shift[m][r];
          float* row = to + (threadIdx.x % 32 / 4 + 8 * r) * at().pitch;
          if (threadIdx.x % 4 != 0) continue;
          row[at().mu] = now == first_shift() ? -infinity : now * 0.69314718f;
          row[at().delta] = earlier == first_shift() ? 0 : exp2_fast(earlier - now);
          row[at().z] = z;
        }
      }
    }
  }

  // ---- one tile ----------------------------------------------------------------------------------------------------

  // One copy: V of this chunk arrives during Q K, K of the next one during softmax and P V. More: chunks ahead arrive
  // during the whole of this one, and the warps meet once.
  template <bool Masked>
  __device__ __forceinline__ void chunk(int n, float (&o)[steps][C.dv / 8][4], Rows& rows, const QFragments& q) {
    float s[steps][C.x / 8][4];
    if constexpr (C.stages == 1) {
      copy_wait<0>();
      __syncthreads();
      load_v<Masked>(n);
      copy_commit();
      scores(s, q, n);
      copy_wait<0>();
      __syncthreads();
      if (n > tile.first) load_k<false>(n - 1);
      copy_commit();
    } else {
      copy_wait<C.stages - 2>();
      __syncthreads();
      const int ahead = n - (C.stages - 1);  // into the place of chunk n + 1, which all have read
      if (ahead >= tile.first) {
        load_k<false>(ahead);
        load_v<false>(ahead);
      }
      copy_commit();
      scores(s, q, n);
    }
    note_scores(n, s);
    if constexpr (Masked) apply_mask(s, n);
    const Rows before = rows;
    advance(s, o, rows);
    outputs(o, s, rows, n);
    note_chunk(n, s, before, rows, o);
  }

  // Keys from the last chunk to the first: the ragged and the causal edge come first, and need no test later.
  __device__ __forceinline__ void attend(float (&o)[steps][C.dv / 8][4], Rows& rows) {
    QFragments q;
    load_q();
    load_k<true>(tile.last - 1);
#pragma unroll
    for (int a = 1; a < C.stages - 1; ++a) {
      if (tile.last - 1 - a >= tile.first) load_k<false>(tile.last - 1 - a);
    }
    copy_commit();
    if constexpr (C.q_registers) {  // V takes over its place
      copy_wait<0>();
      __syncthreads();
      const u32 q_lane = q_rows();
#pragma unroll
      for (int i = 0; i < inner; ++i) load_q_fragments(q[i], q_lane, i);
      __syncthreads();
    }
#pragma unroll
    for (int a = 0; a < C.stages - 1; ++a) {
      if (tile.last - 1 - a >= tile.first) {
        if (a == 0) {
          load_v<true>(tile.last - 1);
        } else {
          load_v<false>(tile.last - 1 - a);
        }
      }
      copy_commit();
    }
    int n = tile.last - 1;
    const int whole_last = max(tile.whole_last, tile.first), whole_first = max(tile.whole_first, tile.first);
    for (; n >= whole_last; --n) chunk<true>(n, o, rows, q);
    for (; n >= whole_first; --n) chunk<false>(n, o, rows, q);
    if constexpr (C.mask == MaskKind::window) {
      for (; n >= tile.first; --n) chunk<true>(n, o, rows, q);
    }
  }

  // O /= z and the log-sum-exp; a row that saw nothing gives 0 and -infinity.
  __device__ __forceinline__ void finish(float (&o)[steps][C.dv / 8][4], const Rows& rows) const {
#pragma unroll
    for (int m = 0; m < steps; ++m) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const float z = quad_sum(rows.sum[m][r]), inverse = z > 0 ? 1.f / z : 0.f;
#pragma unroll
        for (int i = 0; i < C.dv / 8; ++i) {
          o[m][i][2 * r] *= inverse;
          o[m][i][2 * r + 1] *= inverse;
        }
        const int query = query_of(m, r);
        if (lane_id() % 4 == 0 && query < tile.queries && arguments.lse != nullptr) {
          arguments.lse[lse_index<C.packed>(arguments.shape, tile, tile.packed_head, query)] =
              z > 0 ? rows.shift[m][r] * 0.69314718f + __logf(z) : -infinity;
        }
      }
    }
  }

  // Through shared memory, each warp its own rows, so that device memory is written in whole sectors.
  __device__ __forceinline__ void store(const float (&o)[steps][C.dv / 8][4]) const {
    // Places of Q's rows of other warps, or of V, may still be read.
    if constexpr (C.q_registers || C.d != C.dv) {
      __syncthreads();
    } else {
      __syncwarp();
    }
    const u32 base = shared + C.o_offset, first = warp_rows(), lane = lane_id();
#pragma unroll
    for (int m = 0; m < steps; ++m) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
#pragma unroll
        for (int i = 0; i < C.dv / 8; ++i) {
          store_word(base + VRows::at(first + m * 16 + lane / 4 + r * 8, i) + lane % 4 * 4,
                     pack<C.bf16>(o[m][i][2 * r], o[m][i][2 * r + 1]));
        }
      }
    }
    __syncwarp();
    const Strides& strides = arguments.o_strides;
    const int head = tile.head * arguments.shape.g + tile.packed_head;
    Element* to = static_cast<Element*>(arguments.o) + tile.map_batch * strides.batch + head * strides.head +
                  static_cast<long long>(tile.q_row) * strides.row;
    constexpr u32 units = C.dv / 8;
#pragma unroll 4
    for (u32 i = lane; i < 16 * steps * units; i += 32) {
      const u32 row = first + i / units, unit = i % units;
      if (tile.q_first + static_cast<int>(row) < tile.queries) {
        *reinterpret_cast<Quad*>(to + row * strides.row + unit * 8) = load_quad(base + VRows::at(row, unit));
      }
    }
  }
};

template <AttentionSm80Config C>
__global__ void __launch_bounds__(C.warps * 32, C.blocks)
    attention_sm80(const __grid_constant__ AttentionSm80Arguments arguments) {
  extern __shared__ __align__(128) unsigned char memory[];
  using Kernel = AttentionSm80<C>;
  if (C.cycles && threadIdx.x == 0) note_start(arguments.cycles);
  const u32 shared = shared_address(memory);
  const auto found = [&](int index) {
    return find_tile<C.q, C.x, 1, TileOrder::told, C.mask, C.packed>(arguments.shape, index);
  };
  const Tile tile = found(blockIdx.x);
  if (tile.q_first < tile.queries) {
    float o[Kernel::steps][C.dv / 8][4];
    typename Kernel::Rows rows;
#pragma unroll
    for (int m = 0; m < Kernel::steps; ++m) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        rows.shift[m][r] = Kernel::first_shift();
        rows.sum[m][r] = 0;
      }
#pragma unroll
      for (int i = 0; i < C.dv / 8; ++i) {
#pragma unroll
        for (int e = 0; e < 4; ++e) o[m][i][e] = 0;
      }
    }
    if (tile.first < tile.last) Kernel(arguments, tile, shared).attend(o, rows);
    // Found again rather than kept: the loop needs the registers.
    const Tile done = found(block_id());
    const Kernel kernel(arguments, done, shared);
    kernel.finish(o, rows);
    kernel.note_outputs(kernel.chunks(), o);
    kernel.store(o);
  }
  if (C.cycles && threadIdx.x % 32 == 0) note_end(arguments.cycles);
}

}  // namespace napkin
