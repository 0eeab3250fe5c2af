#pragma once
// AttentionSoftmax is attention_sm90's online softmax: one warpgroup's 64 rows, two a thread, whose columns lie over
// four lanes. Example: the scores of a row's 128 keys are 32 floats in each of four threads, and become P = exp2(scale
// log2(e) (score - maximum)). Why a chunk need not have its own maximum: docs/hardware/attention_sm90.md.

#include "kernels/attention/sm90/block_sm90.cuh"
#include "kernels/device/infinity.cuh"
#include "kernels/device/softmax.cuh"

namespace napkin {

template <AttentionConfig C>
struct AttentionSoftmax : AttentionBlock<C> {
  using Block = AttentionBlock<C>;
  using Block::arguments, Block::scores, Block::outputs, Block::probabilities;
  using typename Block::Scores, typename Block::Outputs, typename Block::Probabilities;

  /// Sum of a chunk's exponentials in a thread from which on rescale_rarely finds the maximum again and recomputes
  /// them: P stays below 2^12, in fp16 too. Chunks that the mask cuts always look: the one key that a row sees first
  /// may have a score far below the next ones' (docs/hardware/attention_sm90.md).
  static constexpr float outgrown = 4096.f;

  /// State of this thread's two rows. P is exp2(scale log2(e) (score - maximum)).
  struct RowState {
    float maximum[2], sum[2], delta[2];
  };

  /// Sets scores that the mask hides to -infinity.
  __device__ __forceinline__ void hide(Scores& s, const Tile& tile, int n) const {
    const u32 lane = threadIdx.x % warp_threads, row = Block::thread_row(lane);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const Span seen = seen_by<C.mask>(arguments.shape, tile, Block::row_of(tile, row + 8 * r).query);
      const int own = n * C.x + static_cast<int>(fragment_column(lane, 0));
      const int first = seen.first - own, last = seen.last - own;
#pragma unroll
      for (int i = 0; i < scores / 4; ++i) {
#pragma unroll
        for (int e = 0; e < 2; ++e) {
          if (8 * i + e >= last || (C.mask == MaskKind::window && 8 * i + e < first))
            s[fragment_index(i, r, e)] = -infinity;
        }
      }
    }
  }

  /// Turns scores into P and adds up `sum` by row. `Stepped`: in steps of a few elements; while the exponentials of a
  /// step are under way, the next step's arguments are computed and the last step's results are added. The reasons, and
  /// why a step is three elements: docs/hardware/attention_sm90.md.
  template <bool Stepped>
  __device__ __forceinline__ void exponentials(Scores& s, const RowState& state, float (&sum)[2]) const {
    constexpr int step = Stepped ? 3 : scores, row = scores / 2;
    const float c = arguments.scale_log2;
    float shift[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      shift[r] = state.maximum[r] == -infinity ? 0.f : state.maximum[r] * c;
      sum[r] = 0;
    }
    const auto element = [&](int k) -> float& { return s[fragment_index(k % row / 2, k / row, k % 2)]; };
    const auto prepare = [&](int k) { element(k) = element(k) * c - shift[k / row]; };
#pragma unroll
    for (int k = 0; k < step; ++k) prepare(k);
#pragma unroll
    for (int first = 0; first < scores + step; first += step) {
#pragma unroll
      for (int k = first; k < first + step; ++k) {
        if (k < scores) element(k) = exp2_fast(element(k));
        if (k + step < scores) prepare(k + step);
        if (k >= step && k - step < scores) sum[(k - step) / row] += element(k - step);
      }
      if (Stepped && first < scores) scheduling_fence();
    }
  }

  /// Updates the online softmax of this thread's two rows by a chunk: maximum, delta, P and sum.
  __device__ __forceinline__ void softmax(Scores& s, RowState& state) const {
    const float c = arguments.scale_log2;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float maximum = state.maximum[r];
#pragma unroll
      for (int i = 0; i < scores / 4; ++i)
        maximum = fmaxf(maximum, fmaxf(s[fragment_index(i, r, 0)], s[fragment_index(i, r, 1)]));
      maximum = quad_max(maximum);
      const float shift = maximum == -infinity ? 0.f : maximum * c;
      state.delta[r] = exp2_fast(state.maximum[r] * c - shift);
      state.maximum[r] = maximum;
    }
    float sum[2];
    exponentials<false>(s, state, sum);
#pragma unroll
    for (int r = 0; r < 2; ++r) state.sum[r] = state.sum[r] * state.delta[r] + sum[r];
  }

  /// Returns true if in this warp a sum of a chunk's exponentials reaches `outgrown`, or is NaN.
  static __device__ __forceinline__ bool outgrew(const float (&sum)[2]) {
    return __any_sync(0xffffffffu, !(sum[0] < outgrown && sum[1] < outgrown));
  }

  /// Converts P to pairs, as P V's A operand has them.
  static __device__ __forceinline__ void convert(const Scores& s, Probabilities& p) {
#pragma unroll
    for (int i = 0; i < probabilities; ++i) p[i] = pack<C.bf16>(s[2 * i], s[2 * i + 1]);
  }

  static __device__ __forceinline__ void rescale(Outputs& o, const RowState& state) {
    if constexpr (C.rescale_rarely) {
      if (!__any_sync(0xffffffffu, state.delta[0] != 1.f || state.delta[1] != 1.f)) return;
    }
#pragma unroll
    for (int i = 0; i < outputs; ++i) o[i] *= state.delta[i / 2 % 2];
  }
};

}  // namespace napkin
