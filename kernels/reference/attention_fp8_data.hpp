#pragma once
// Fp8Arrays is one problem of attention_fp8_sm90 on the host: random numbers of e4m3, their scales, and the errors of a
// result against float64. Example: Fp8Arrays({.sizes = {1, 2, 1, 1000, 1000, 128, 128}}, Fp8Scales::block) has eight
// scales a head.

#include <cstdint>
#include <vector>

#include "kernels/reference/attention_data.hpp"

namespace napkin::internal {

enum class Fp8Scales {
  none,   ///< all are 1
  head,   ///< a scale for each head
  block,  ///< a scale for each 128 rows of a head; some are 0
};

class Fp8Arrays {
 public:
  /// Fills inputs with normal numbers and the output with poison. Ignores the layout's type; gaps between rows are
  /// multiples of 16.
  Fp8Arrays(const AttentionLayout& layout, Fp8Scales scales);

  std::vector<std::uint8_t> q, k, v;
  std::vector<std::uint16_t> o;  ///< output, filled with poison
  std::vector<float> log_sum_exp, q_scale, k_scale, v_scale;
  std::vector<std::int32_t> q_starts, x_starts;

  /// Returns the call with strides and counts; all addresses are 0.
  [[nodiscard]] const AttentionCall& call() const { return call_; }
  /// Returns inputs and outputs for the reference in float64.
  [[nodiscard]] HostAttention host() const;
  /// Compares up to that many rows; if there are few, one more rounding of P is allowed.
  [[nodiscard]] Comparison compare_all(std::int64_t rows) const;

 private:
  AttentionLayout layout_;
  AttentionCall call_;
};

}  // namespace napkin::internal
