#pragma once
// attention_fp8_sm90's online softmax: attention_sm90's rows, with a maximum in powers of two, since chunks may have
// scales of their own, and P of up to 2^8. Example: of a row's keys the largest has P = 256, and one of 2^-14 of it is
// still a normal number of e4m3.

#include "kernels/attention/epilogue_sm90.cuh"
#include "kernels/attention/fp8/block_fp8.cuh"
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

  // What a score of these two rows times a key is in powers of two, by that key's scale; never 0, of which what the
  // mask hides would be no number.
  struct Factors {
    float row[2];
  };
  static __device__ __forceinline__ float factor(float row, float key) { return fmaxf(row * key, 1e-30f); }

  // Scores become P.
  static __device__ __forceinline__ void softmax(Scores& s, RowState& state, const Factors& rows, float key) {
    float sum[2], c[2], shift[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      c[r] = factor(rows.row[r], key);
      float most = s[fragment_index(0, r, 0)];
#pragma unroll
      for (int i = 0; i < Block::scores / 4; ++i)
        most = fmaxf(most, fmaxf(s[fragment_index(i, r, 0)], s[fragment_index(i, r, 1)]));
      const float maximum = fmaxf(state.maximum[r], quad_max(most) * c[r]);
      const float base = maximum == -infinity ? 0.f : maximum;
      state.delta[r] = exp2_fast(state.maximum[r] - base);
      state.maximum[r] = maximum;
      shift[r] = base - lift;
      sum[r] = 0;
    }
#pragma unroll
    for (int i = 0; i < Block::scores; ++i) {
      const int r = i / 2 % 2;
      s[i] = exp2_fast(s[i] * c[r] - shift[r]);
      sum[r] += s[i];
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) state.sum[r] = state.sum[r] * state.delta[r] + sum[r];
  }

  // P as words of the A operand of P V: bytes 0 to 3 of lane t are the keys 2t, 2t + 1, 2t + 8 and 2t + 9 of 16, and
  // V^T lies in that order.
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
