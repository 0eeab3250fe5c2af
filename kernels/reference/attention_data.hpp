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

namespace napkin {

/// What the inputs are: `normal` numbers, or what makes an online softmax work or rest. `growing`: from the last key to
/// the first, which is how the bundled kernels go, each key's exponential is 2^growth times the one before: with 0.25
/// every chunk of 48 keys and more outgrows a kept maximum by 2^12; `shrinking`: from the first to the last; `spike`:
/// one score of each row, at a random key, is beyond all others; `zeros`: Q, K and V.
enum class AttentionInputs { normal, zeros, growing, shrinking, spike };
/// "normal", "zeros", ... Throws Error on another word.
[[nodiscard]] AttentionInputs inputs_of(const std::string& word);

struct AttentionLayout {
  AttentionSizes sizes;
  DType type = DType::bf16;
  Mask mask;
  bool log_sum_exp = true;
  bool heads_first = false;  ///< [b, head, row, d] instead of [b, row, head, d]
  std::int64_t gap =
      0;  ///< elements between rows that belong to nobody (a multiple of 8); a row and a head then do too
  std::vector<std::int32_t> q_lengths, x_lengths;    ///< packed: one of each per sequence; else empty
  double deviation = 1;                              ///< of the inputs
  double growth = 0.25;                              ///< of growing and shrinking inputs, powers of two a key
  AttentionInputs inputs = AttentionInputs::normal;  ///< others than normal: not packed
  std::uint64_t seed = 1;
};

/// Rows of heads as the layout says, heads outside rows or inside. Where rows have gaps, a head's last row and a
/// sequence's last head have one behind them that belongs to nobody.
[[nodiscard]] TensorView strided(const AttentionLayout& layout, std::int64_t rows, std::int64_t heads,
                                 std::int64_t columns);

class AttentionData {
 public:
  /// Allocates and fills. Throws CudaFailure.
  AttentionData(Runtime& runtime, const AttentionLayout& layout);

  [[nodiscard]] AttentionCall call() const;
  /// The call with cycles wanted (measure_cycles()).
  [[nodiscard]] AttentionCall counting_call() const;
  [[nodiscard]] const DeviceMemory& spans() const { return spans_; }

  /// Other inputs than the random ones: Q[b,h,g,q,d], K[b,h,x,d] and V[b,h,x,dv], rounded to the type. Not packed.
  void set_inputs(const Tensors& inputs) const;

  /// Every output element becomes a NaN that no kernel writes.
  void poison() const;
  /// Inputs and outputs as they are now.
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

/// 2 (d + dv) FLOP a pair by the field's convention: causal counts half of q x, a window its visible pairs.
[[nodiscard]] double attention_flops(const AttentionLayout& layout);

}  // namespace napkin
