#pragma once
// Fp8Softmax is attention_fp8_sm90's online softmax: that of attention_sm90, with the maximum of scaled scores, since
// chunks may have scales of their own, and with P up to 2^8. Example: of a row's keys the largest has P = 256, and one
// of 2^-14 of it is still a normal number of e4m3.

#include "kernels/attention/fp8/block_fp8.cuh"
#include "kernels/attention/sm90/epilogue_sm90.cuh"
#include "kernels/device/bytes.cuh"

namespace napkin {

template <AttentionFp8Config F>
struct Fp8Softmax : AttentionEpilogue<F.forward> {
  static constexpr AttentionConfig C = F.forward;
  using Block = AttentionBlock<C>;
  using Base = AttentionEpilogue<C>;
  using Places = Fp8Places<F>;
  using typename Block::Scores;
  using RowState = typename AttentionSoftmax<C>::RowState;  // maximum: of scores times log2 e, as powers of two

  static constexpr float lift = 8;  // P is exp2(score - maximum + lift): e4m3 ends at 448
  static constexpr int probabilities = C.x / 8;
  using Probabilities = u32[probabilities];

  const AttentionFp8Arguments& fp8;

  /// Factor of each of these two rows that makes a score a power of two. Rows eight apart have different scales if they
  /// are of different heads.
  struct Factors {
    float row[C.g == 1 ? 1 : 2];
  };
  /// Returns the factor of row `r` times the key's scale; never 0, as 0 times a hidden score's -infinity would be NaN.
  static __device__ __forceinline__ float factor(const Factors& rows, int r, float key) {
    return fmaxf(rows.row[C.g == 1 ? 0 : r] * key, 1e-30f);
  }

  /// Finds the largest score of each of two rows. Non-negative floats compare like their bits, and one integer
  /// instruction returns the largest of three numbers; rows whose scores are all negative are compared as floats.
  static __device__ __forceinline__ void largest(const Scores& s, float (&most)[2]) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      int bits = __float_as_int(s[fragment_index(0, r, 0)]);
#pragma unroll
      for (int i = 0; i < Block::scores / 4; ++i)
        bits =
            __vimax3_s32(bits, __float_as_int(s[fragment_index(i, r, 0)]), __float_as_int(s[fragment_index(i, r, 1)]));
      bits = max(bits, __shfl_xor_sync(0xffffffffu, bits, 1));
      most[r] = __int_as_float(max(bits, __shfl_xor_sync(0xffffffffu, bits, 2)));
    }
    if (!__any_sync(0xffffffffu, min(__float_as_int(most[0]), __float_as_int(most[1])) < 0)) return;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      most[r] = s[fragment_index(0, r, 0)];
#pragma unroll
      for (int i = 0; i < Block::scores / 4; ++i)
        most[r] = fmaxf(most[r], fmaxf(s[fragment_index(i, r, 0)], s[fragment_index(i, r, 1)]));
      most[r] = quad_max(most[r]);
    }
  }

  /// Updates the rows' maximum with a chunk's; `delta` is the factor for O and for the sums so far.
  static __device__ __forceinline__ void find_maximum(const Scores& s, RowState& state, const Factors& rows,
                                                      float key) {
    float most[2];
    largest(s, most);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const float maximum = fmaxf(state.maximum[r], most[r] * factor(rows, r, key));
      state.delta[r] = exp2_fast(state.maximum[r] - (maximum == -infinity ? 0.f : maximum));
      state.maximum[r] = maximum;
    }
  }

  /// Turns scores into P, and adds to the sums where no product does.
  static __device__ __forceinline__ void exponentials(Scores& s, RowState& state, const Factors& rows, float key) {
    float sum[2], c[2], shift[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      c[r] = factor(rows, r, key);
      shift[r] = (state.maximum[r] == -infinity ? 0.f : state.maximum[r]) - lift;
      sum[r] = 0;
    }
#pragma unroll
    for (int i = 0; i < Block::scores; ++i) {
      const int r = i / 2 % 2;
      s[i] = exp2_fast(s[i] * c[r] - shift[r]);
      if (!F.product_sums) sum[r] += s[i];
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (!F.product_sums) state.sum[r] = state.sum[r] * state.delta[r] + sum[r];
    }
  }

  /// Converts P to words of the A operand of P V: bytes 0 to 3 of lane t are the keys 2t, 2t + 1, 2t + 8 and 2t + 9 of
  /// 16, the order in which V^T lies.
  static __device__ __forceinline__ void convert(const Scores& s, Probabilities& p) {
#pragma unroll
    for (int i = 0; i < probabilities; ++i) {
      const int eight = i / 2 * 2, r = i % 2;
      p[i] = pack_bytes(s[fragment_index(eight, r, 0)], s[fragment_index(eight, r, 1)],
                        s[fragment_index(eight + 1, r, 0)], s[fragment_index(eight + 1, r, 1)]);
    }
  }
};

}  // namespace napkin
