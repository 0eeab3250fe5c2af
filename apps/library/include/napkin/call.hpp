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

/// Rows of heads on the device, at a multiple of 16 bytes. Strides are in elements, multiples of 8; the last axis is
/// dense.
struct DeviceRows {
  void* data = nullptr;
  std::int64_t batch = 0, head = 0, row = 0;
  bool operator==(const DeviceRows&) const = default;
};

/// The scales of e4m3 numbers: f32 on the device. Strides in scales; 0 shares a scale along that axis, so that a
/// pointer alone scales the whole tensor. `block` is the stride between groups of 128 rows.
struct DeviceScales {
  const float* data = nullptr;  ///< address; null: all scales are 1
  std::int64_t batch = 0, head = 0, block = 0;
  bool operator==(const DeviceScales&) const = default;
};

/// Keys and values in pages of `size` keys at any places, as a server keeps them: k and v are [pages, heads, size,
/// columns] by their strides, whose `batch` is then the stride between pages. On Hopper, for few queries.
struct DevicePages {
  const std::int32_t* table = nullptr;  ///< page numbers [b, row] on the device; null: no pages
  std::int64_t row = 0;                 ///< page numbers that a sequence has in the table, sizes.x / size or more
  std::int64_t size = 0;                ///< keys of a page, a multiple of 8
  std::int64_t count = 0;               ///< pages that there are
  bool operator==(const DevicePages&) const = default;
};

/// The arguments of O = softmax(scale Q K^T) V with the paper's axes: b batch, h key heads, g query heads a key head, q
/// queries, x keys.
struct AttentionArgs {
  struct Sizes {
    std::int64_t b = 1, h = 1, g = 1, q = 0, x = 0, d = 0;
    std::int64_t dv = 0;  ///< columns of V and O; 0: d
    bool operator==(const Sizes&) const = default;
  } sizes;
  DType dtype = DType::bf16;  ///< type of q, k, v: bf16, f16, or e4m3 on Hopper (o is then bf16, strides of q, k, v
                              ///< multiples of 16)
  Mask mask;                  ///< mask, bottom-right aligned
  DeviceRows q, k, v, o;      ///< arrays with h g heads (q, o) and h heads (k, v)
  DeviceScales q_scale, k_scale, v_scale;  ///< scales for e4m3 alone, by head of q, k and v; packed calls have no
                                           ///< blocks
  std::optional<double> scale;             ///< scale of the softmax; default d^-1/2
  float* log_sum_exp = nullptr;            ///< result [b, h g, q]; null: not wanted
  /// The packed sequences' first rows [b + 1] on the device, and the numbers of all rows. sizes.q and sizes.x are then
  /// the longest, log_sum_exp is [h g, q_rows], and batch strides are not used.
  const std::int32_t* q_starts = nullptr;
  const std::int32_t* x_starts = nullptr;
  std::int64_t q_rows = 0, x_rows = 0;
  /// The sequences' lengths, if the host knows them: the tile is then selected for them, else for the longest.
  std::vector<SequenceLengths> lengths;
  /// The keys of each sequence [b] on the device, at most sizes.x, so that a generation's steps are one call; null: all
  /// have sizes.x. On Hopper, for few queries, not with packed sequences.
  const std::int32_t* key_counts = nullptr;
  DevicePages pages;
  int device = 0;  ///< ordinal of the GPU; its primary context is made current
  bool operator==(const AttentionArgs&) const = default;
};

void attention(const AttentionArgs& args, void* stream = nullptr);

/// Device memory in which a call's launches pass results to each other; its contents at the start do not matter. The
/// caller owns it, and may use it for the next call in the stream once this call's launches are in the stream.
struct DeviceWorkspace {
  void* data = nullptr;    ///< address, a multiple of 16 bytes
  std::int64_t bytes = 0;  ///< size
  bool operator==(const DeviceWorkspace&) const = default;
};

/// The arguments of dQ, dK and dV of O = softmax(scale Q K^T) V, computed from dO (see attention_backward()).
struct AttentionBackwardArgs {
  AttentionArgs forward;  ///< the forward call that wrote o and log_sum_exp; bf16 or f16, d and dv up to 256
  DeviceRows d_o;         ///< gradient of o, laid out like forward.o
  DeviceRows dq, dk, dv;  ///< results, written like forward.q, k and v: every row of every sequence
  /// True for equal bits in every run: the parts of dQ are added in a fixed order, which takes longer. Otherwise the
  /// last bits of dQ vary from run to run; dK and dV never do.
  bool deterministic = false;
  DeviceWorkspace workspace;  ///< memory of attention_backward_workspace() bytes
  bool operator==(const AttentionBackwardArgs&) const = default;
};

/// Returns the bytes of workspace of a call: b h g (d + 2) f32 for each query, queries rounded up to whole tiles, and a
/// little more. Selects the tile, and compiles it if it is new. Ignores args.workspace.
[[nodiscard]] std::int64_t attention_backward_workspace(const AttentionBackwardArgs& args);

/// Launches three kernels in the stream. Throws Error if the bundled kernel does not take the arguments.
void attention_backward(const AttentionBackwardArgs& args, void* stream = nullptr);

/// Returns "" if a bundled kernel computes gradients of heads of d and dv in that type on the GPU (a profile's name),
/// else the reason.
[[nodiscard]] std::string attention_backward_refusal(const std::string& gpu, DType dtype, std::int64_t d,
                                                     std::int64_t dv);
/// Returns the profile of a GPU of this machine: "h200-sxm". Throws Error if no profile matches, CudaFailure without a
/// GPU.
[[nodiscard]] std::string profile_of_device(int device = 0);

/// Rows on the device, at a multiple of 16 bytes. `row` is the stride in elements, a multiple of 8 (for e4m3 of 16).
struct DeviceMatrix {
  void* data = nullptr;
  std::int64_t row = 0;
  bool operator==(const DeviceMatrix&) const = default;
};

/// The arguments of C[a, c] = A[a, b] B[b, c]; b is a multiple of 8. For e4m3, b is a multiple of 16, B is stored as c
/// rows of b, and C is bf16.
struct MatmulArgs {
  struct Sizes {
    std::int64_t a = 0, b = 0, c = 0;
    bool operator==(const Sizes&) const = default;
  } sizes;
  DType dtype = DType::bf16;  ///< type of A and B: bf16, f16, or e4m3 on Hopper
  DeviceMatrix a, b, c;
  const float* a_scale = nullptr;  ///< scale of A, for e4m3 alone: an f32 on the device; null: 1
  const float* b_scale = nullptr;  ///< scale of B
  int device = 0;                  ///< ordinal of the GPU; its primary context is made current
  bool operator==(const MatmulArgs&) const = default;
};

void matmul(const MatmulArgs& args, void* stream = nullptr);

}  // namespace napkin
