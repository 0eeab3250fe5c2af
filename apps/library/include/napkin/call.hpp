#pragma once
// attention(), attention_backward() and matmul() compute on the GPU for a user's own program: they select the tile for
// the GPU and the shape, compile the kernel at its first use, and launch it. The plan and the machine code are kept on
// disk: a later process that calls with equal sizes and strides selects and compiles nothing. No CUDA type is in sight:
// a stream is the driver's or the runtime's handle, nullptr the default one.
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

#include "napkin/types.hpp"

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
  /// Their lengths, where the host knows them: the tile is then selected for them, else for sequences of the longest.
  std::vector<SequenceLengths> lengths;
  int device = 0;  ///< ordinal of the GPU; its primary context is made current
  bool operator==(const AttentionArgs&) const = default;
};

void attention(const AttentionArgs& args, void* stream = nullptr);

/// Memory on the device, of any content, that a call's launches hand each other results in. It is the caller's, and
/// free for another call of the stream when this one's launches are in the stream.
struct DeviceWorkspace {
  void* data = nullptr;    ///< at a multiple of 16 bytes
  std::int64_t bytes = 0;  ///< that there are
  bool operator==(const DeviceWorkspace&) const = default;
};

/// dQ, dK and dV of O = softmax(scale Q K^T) V from dO. Example, behind attention(forward, stream):
///
///   napkin::AttentionBackwardArgs args;
///   args.forward = forward;   // with its log_sum_exp
///   args.d_o = {d_o, ...}, args.dq = {dq, ...}, args.dk = ..., args.dv = ...;
///   const std::int64_t bytes = napkin::attention_backward_workspace(args);
///   args.workspace = {allocate(bytes), bytes};
///   napkin::attention_backward(args, stream);
struct AttentionBackwardArgs {
  AttentionArgs forward;  ///< whose o and log_sum_exp were written; bf16 or f16, d and dv of 64 or 128
  DeviceRows d_o;         ///< like forward.o
  DeviceRows dq, dk, dv;  ///< written, like forward.q, k and v: every row of every sequence
  /// Equal bits in every run: the parts of dQ are added up one behind the other, which takes longer. Else they are
  /// added up in whatever order they come, and the last bits of dQ differ from run to run; dK and dV never do.
  bool deterministic = false;
  DeviceWorkspace workspace;  ///< of attention_backward_workspace() bytes
  bool operator==(const AttentionBackwardArgs&) const = default;
};

/// Bytes of workspace that the call takes: b h g (d + 2) f32 numbers for each query, queries rounded up to whole tiles,
/// and a little more. The tile is selected, and compiled where it is new. args.workspace is not looked at.
[[nodiscard]] std::int64_t attention_backward_workspace(const AttentionBackwardArgs& args);

/// Three launches in the stream. What the bundled kernel does not take is an Error that says why.
void attention_backward(const AttentionBackwardArgs& args, void* stream = nullptr);

/// Whether a bundled kernel computes the gradients of heads of d and dv in that type on the GPU, a profile's name; else
/// why not. "" where it does.
[[nodiscard]] std::string attention_backward_refusal(const std::string& gpu, DType dtype, std::int64_t d,
                                                     std::int64_t dv);
/// The profile of a GPU of this machine: "h200-sxm". Throws Error where none is its, CudaFailure where there is none.
[[nodiscard]] std::string profile_of_device(int device = 0);

/// Rows on the device, at a multiple of 16 bytes; elements from row to row, a multiple of 8, of e4m3 of 16.
struct DeviceMatrix {
  void* data = nullptr;
  std::int64_t row = 0;
  bool operator==(const DeviceMatrix&) const = default;
};

/// C[a, c] = A[a, b] B[b, c]; b is a multiple of 8. Of e4m3 b is a multiple of 16, B lies with its contracted axis
/// inside, as c rows of b, and C is bf16.
struct MatmulArgs {
  struct Sizes {
    std::int64_t a = 0, b = 0, c = 0;
    bool operator==(const Sizes&) const = default;
  } sizes;
  DType dtype = DType::bf16;  ///< or f16, or e4m3 on Hopper
  DeviceMatrix a, b, c;
  const float* a_scale = nullptr;  ///< e4m3 alone: f32 on the device that numbers of A stand for; null: 1
  const float* b_scale = nullptr;  ///< of B
  int device = 0;                  ///< as above
  bool operator==(const MatmulArgs&) const = default;
};

void matmul(const MatmulArgs& args, void* stream = nullptr);

}  // namespace napkin
