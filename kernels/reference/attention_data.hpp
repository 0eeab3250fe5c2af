#pragma once
// AttentionData holds inputs and outputs of one attention problem on the device, made for a measurement or a test:
// fresh random inputs, poisoned outputs, any strides.

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/plans/attention.hpp"
#include "kernels/reference/reference.hpp"
#include "kernels/runtime/banded_memory.hpp"
#include "kernels/runtime/measure.hpp"
#include "model/interpret/tensor.hpp"

namespace napkin::internal {

/// The values of the inputs: `normal`; `zeros`; `growing`, where each key's exponential, from the last key (at which
/// bundled kernels start), is 2^growth times the one before; `shrinking`, the reverse; `spike`, with one dominant score
/// a row.
enum class AttentionInputs { normal, zeros, growing, shrinking, spike };
/// Parses "normal", "zeros", ... Throws Error for another word.
[[nodiscard]] AttentionInputs inputs_of(const std::string& word);

struct AttentionLayout {
  AttentionSizes sizes;
  DType type = DType::bf16;
  Mask mask;
  bool log_sum_exp = true;
  bool heads_first = false;  ///< true for [b, head, row, d], false for [b, row, head, d]
  /// Unused elements between rows (a multiple of 8); heads and sequences then have an unused row and head between them.
  std::int64_t gap = 0;
  std::vector<std::int32_t> q_lengths, x_lengths;    ///< lengths of packed sequences; else empty
  double deviation = 1;                              ///< standard deviation of the inputs
  double growth = 0.25;                              ///< exponent of growing and shrinking inputs, powers of two a key
  AttentionInputs inputs = AttentionInputs::normal;  ///< values of the inputs; packed: `normal` only
  std::uint64_t seed = 1;
};

/// Lays out rows of heads, heads outside or inside of rows. If rows have gaps, an unused row follows
/// each head, and an unused head each sequence.
[[nodiscard]] TensorView strided(const AttentionLayout& layout, std::int64_t rows, std::int64_t heads,
                                 std::int64_t columns);

class AttentionData {
 public:
  /// Allocates and fills. Throws CudaFailure.
  AttentionData(Runtime& runtime, const AttentionLayout& layout);

  [[nodiscard]] AttentionCall call() const;
  /// Returns the call that also writes cycles (measure_cycles()).
  [[nodiscard]] AttentionCall counting_call() const;
  [[nodiscard]] const DeviceMemory& spans() const { return spans_; }

  /// Sets the inputs to given numbers, rounded to the type: Q[b,h,g,q,d], K[b,h,x,d] and V[b,h,x,dv]. Not packed.
  void set_inputs(const Tensors& inputs) const;

  /// Sets every output element to a NaN that no kernel writes.
  void poison() const;
  /// Returns the current inputs and outputs.
  [[nodiscard]] HostAttention download() const;

 private:
  struct Array {
    BandedMemory memory;
    TensorView view;
    std::int64_t count = 0;  ///< elements, gaps included
  };
  [[nodiscard]] Array make(std::int64_t rows, std::int64_t heads, std::int64_t columns) const;
  [[nodiscard]] HostArray fetch(const Array& array) const;
  void put(const Array& array, const Tensor& values, std::int64_t heads, std::int64_t rows) const;
  void make_starts();
  void shape_scores(Runtime& runtime) const;

  Device device_;
  AttentionLayout layout_;
  std::int64_t batches_ = 1, q_rows_ = 0, x_rows_ = 0;
  std::vector<std::int32_t> q_starts_, x_starts_;
  Array q_, k_, v_, o_;
  BandedMemory lse_, ticket_;
  DeviceMemory spans_, q_starts_memory_, x_starts_memory_;
};

/// Returns the FLOP by the usual convention, 2 (d + dv) a pair: causal counts half of q x, a window its visible pairs.
[[nodiscard]] double attention_flops(const AttentionLayout& layout);

}  // namespace napkin::internal
