#pragma once
// attention() and matmul() compute on the GPU for a user's own program: they select the tile for the GPU and the shape,
// compile the kernel at its first use, and launch it. The plan and the machine code are kept on disk: a later process
// that calls with equal sizes and strides selects and compiles nothing. No CUDA type is in sight: a stream is the
// driver's or the runtime's handle, nullptr the default one.
//
//   napkin::AttentionArgs args;
//   args.sizes = {.h = 16, .q = 8192, .x = 8192, .d = 128};
//   args.q = {q, 8192 * 16 * 128, 128, 16 * 128};   // [b, q, h, d], dense
//   ...
//   napkin::attention(args, stream);
//
// Arguments that no kernel takes throw napkin::Error: where, what, and what would be right. What CUDA lacks or refuses
// (no GPU, no NVRTC) throws napkin::CudaFailure. Both before anything was launched. Safe from several threads. A call
// can be captured into a CUDA graph, once another ran on that GPU.

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/jit/failure.hpp"
#include "model/base/dtype.hpp"
#include "model/base/error.hpp"
#include "model/diagram/problem.hpp"

namespace napkin {

/// Rows of heads on the device, at a multiple of 16 bytes. Strides in elements, multiples of 8; the last axis is dense.
struct DeviceRows {
  void* data = nullptr;
  std::int64_t batch = 0, head = 0, row = 0;
  bool operator==(const DeviceRows&) const = default;
};

/// What numbers of e4m3 are to be multiplied by: f32 on the device. Strides in numbers; 0 where one stands for all, so
/// that one pointer alone is a scale of the whole tensor. `block`: from 128 rows to the next.
struct DeviceScales {
  const float* data = nullptr;  ///< null: all are 1
  std::int64_t batch = 0, head = 0, block = 0;
  bool operator==(const DeviceScales&) const = default;
};

/// O = softmax(scale Q K^T) V with the paper's axes: b batch, h key heads, g query heads a key head, q queries, x keys.
struct AttentionArgs {
  struct Sizes {
    std::int64_t b = 1, h = 1, g = 1, q = 0, x = 0, d = 0;
    std::int64_t dv = 0;  ///< 0: d
    bool operator==(const Sizes&) const = default;
  } sizes;
  DType dtype = DType::bf16;  ///< or f16, or e4m3 on Hopper: o is bf16 then, and strides of q, k, v multiples of 16
  Mask mask;                  ///< bottom-right aligned
  DeviceRows q, k, v, o;      ///< heads: h g of q and of o, h of k and of v
  DeviceScales q_scale, k_scale, v_scale;  ///< e4m3 alone: heads as those of q, k and v; no blocks where packed
  std::optional<double> scale;             ///< default d^-1/2
  float* log_sum_exp = nullptr;            ///< [b, h g, q], or not wanted
  /// Sequences of different lengths, one behind the other: [b + 1] first rows on the device, and all rows. sizes.q
  /// and sizes.x are then the longest, log_sum_exp is [h g, q_rows], and batch strides are not used.
  const std::int32_t* q_starts = nullptr;
  const std::int32_t* x_starts = nullptr;
  std::int64_t q_rows = 0, x_rows = 0;
  /// Their lengths, where the host knows them: the tile is then selected for these, else for sequences of the longest.
  std::vector<SequenceLengths> lengths;
  int device = 0;  ///< ordinal of the GPU; its primary context is made current
  bool operator==(const AttentionArgs&) const = default;
};

void attention(const AttentionArgs& args, void* stream = nullptr);

/// Rows on the device, at a multiple of 16 bytes; elements from row to row, a multiple of 8.
struct DeviceMatrix {
  void* data = nullptr;
  std::int64_t row = 0;
  bool operator==(const DeviceMatrix&) const = default;
};

/// C[a, c] = A[a, b] B[b, c]; b is a multiple of 8.
struct MatmulArgs {
  struct Sizes {
    std::int64_t a = 0, b = 0, c = 0;
    bool operator==(const Sizes&) const = default;
  } sizes;
  DType dtype = DType::bf16;  ///< or f16
  DeviceMatrix a, b, c;
  int device = 0;  ///< as above
  bool operator==(const MatmulArgs&) const = default;
};

void matmul(const MatmulArgs& args, void* stream = nullptr);

}  // namespace napkin
