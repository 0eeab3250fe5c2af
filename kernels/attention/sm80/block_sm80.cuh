#pragma once
// AttentionSm80Block is a block of attention_sm80: its tile, where arrays lie in shared memory, and how rows of Q, K
// and V get there, 16 bytes a thread by cp.async. The kernel is a chain of structs, each derived from the one before:
// block, products with softmax, epilogue with debug variant, kernel.

#include "kernels/attention/common/tiles.cuh"
#include "kernels/attention/sm80/arguments_sm80.cuh"
#include "kernels/device/cp_async.cuh"
#include "kernels/device/fragment.cuh"

namespace napkin {

/// Rows of `Columns` 16-bit elements in shared memory. Within a span of eight units of 16 bytes (four, if eight do not
/// divide the row) units are permuted by row, so that a unit's places in eight consecutive rows are in different banks.
template <int Columns, bool Swizzle>
struct SharedRows {
  static constexpr u32 pitch = Columns * 2, span = Columns % 64 == 0 ? 128 : 64;

  static __device__ __forceinline__ u32 at(u32 row, u32 unit) {
    const u32 permuted = !Swizzle ? 0 : span == 128 ? row % 8 : row / 2 % 4;
    return row * pitch + ((unit ^ permuted) * 16);
  }
  /// Returns an address of at(), of unit 0 or 1, moved by an even number of units: for a constant number an XOR or an
  /// immediate offset.
  static __device__ __forceinline__ u32 along(u32 address, u32 units) {
    return (address ^ (units * 16 % span)) + units * 16 / span * span;
  }
};

template <AttentionSm80Config C>
struct AttentionSm80Block {
  static constexpr int threads = C.warps * 32;
  static constexpr int steps = C.q / (16 * C.warps);  // steps of 16 rows, a warp

  static constexpr int columns = C.x / 16, inner = C.d / 16, outer = C.dv / 16;  // operand loads along x, d and dv
  static constexpr u32 k_bytes = C.x * C.d * 2, v_bytes = C.x * C.dv * 2;
  using QRows = SharedRows<C.d, C.swizzle>;
  using KRows = SharedRows<C.d, C.swizzle>;
  using VRows = SharedRows<C.dv, C.swizzle>;
  using Element = unsigned short;

  /// A thread's fragments of its warp's S and O, and of Q if it is kept in registers.
  using Scores = float[steps][C.x / 8][4];
  using Outputs = float[steps][C.dv / 8][4];
  using QFragments = u32[C.q_registers ? inner : 1][steps][4];

  static_assert(C.q % (16 * C.warps) == 0 && C.x % 16 == 0 && C.d % 32 == 0 && C.dv % 32 == 0);
  static_assert((C.q_offset | C.k_offset | C.v_offset | C.o_offset) % 128 == 0);

  /// State of a thread's rows, two for each step. Exponentials are 2^(s scale log2 e - shift); until the end the sums
  /// are of this thread's columns. The first shift is finite, so that a row that has seen no key never computes
  /// infinity less infinity.
  struct Rows {
    float shift[steps][2], sum[steps][2];
  };
  static __device__ constexpr float first_shift() { return -1e30f; }

  const AttentionSm80Arguments& arguments;
  const Tile& tile;
  u32 shared;
  const Element *k, *v;  // K and V of this sequence and head

  __device__ __forceinline__ AttentionSm80Block(const AttentionSm80Arguments& a, const Tile& t, u32 memory)
      : arguments(a), tile(t), shared(memory) {
    k = first_row(a.k, a.k_strides, tile.head, tile.x_row);
    v = first_row(a.v, a.v_strides, tile.head, tile.x_row);
  }

  /// Returns the number of rows before this warp's own.
  static __device__ __forceinline__ u32 warp_rows() { return thread_id() / 32 * (16 * steps); }

  __device__ __forceinline__ const Element* first_row(const void* array, const Strides& strides, int head,
                                                      int row) const {
    return static_cast<const Element*>(array) + tile.map_batch * strides.batch + head * strides.head +
           row * strides.row;
  }

  /// Loads rows `row` to `row` + Count of `array`, 16 bytes a thread, neighbouring threads along a row: whole sectors,
  /// no bank conflicts. Rows from `end` on, and columns from `width` on, become zeros: P = 0 times a NaN there would be
  /// NaN.
  template <int Columns, int Count, bool Ragged>
  __device__ __forceinline__ void load(u32 to, const Element* array, long long stride, int row, int end,
                                       int width) const {
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
        if constexpr (Ragged || C.padded) {
          const bool inside = (!Ragged || row + r + first < end) && (!C.padded || unit * 8 + c / 2 < width);
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
    load<C.d, C.q, true>(shared + C.q_offset, q, arguments.q_strides.row, tile.q_first, tile.queries,
                         arguments.shape.d);
  }
  template <bool Ragged>
  __device__ __forceinline__ void load_k(int n) const {
    load<C.d, C.x, Ragged>(shared + C.k_offset + n % C.stages * k_bytes, k, arguments.k_strides.row, n * C.x, tile.keys,
                           arguments.shape.d);
  }
  template <bool Ragged>
  __device__ __forceinline__ void load_v(int n) const {
    load<C.dv, C.x, Ragged>(shared + C.v_offset + n % C.stages * v_bytes, v, arguments.v_strides.row, n * C.x,
                            tile.keys, arguments.shape.dv);
  }
};

}  // namespace napkin
