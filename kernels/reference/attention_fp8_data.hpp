#pragma once
// Fp8Arrays is one problem of attention_fp8_sm90 on the host: random numbers of e4m3, their scales, and what float64
// says of a result. Example: Fp8Arrays({.sizes = {1, 2, 1, 1000, 1000, 128, 128}}, Fp8Scales::block) has eight scales a
// head.

#include <cstdint>
#include <vector>

#include "kernels/reference/attention_data.hpp"

namespace napkin {

enum class Fp8Scales {
  none,   ///< all are 1
  head,   ///< of each head
  block,  ///< of each head's 128 rows; of a block now and then 0
};

class Fp8Arrays {
 public:
  /// `layout`: its type is not looked at, its inputs are normal numbers; rows may have gaps of a multiple of 16.
  Fp8Arrays(const AttentionLayout& layout, Fp8Scales scales);

  std::vector<std::uint8_t> q, k, v;
  std::vector<std::uint16_t> o;  ///< poison
  std::vector<float> log_sum_exp, q_scale, k_scale, v_scale;
  std::vector<std::int32_t> q_starts, x_starts;

  /// Strides and counts; all addresses are 0.
  [[nodiscard]] const AttentionCall& call() const { return call_; }
  /// Inputs and outputs as float64 reads them.
  [[nodiscard]] HostAttention host() const;
  /// Up to that many rows compared; of few rows one rounding of P more is allowed.
  [[nodiscard]] Comparison compare_all(std::int64_t rows) const;

 private:
  AttentionLayout layout_;
  AttentionCall call_;
};

}  // namespace napkin
