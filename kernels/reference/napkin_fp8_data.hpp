#pragma once
// NapkinArrays is one problem of napkin_fp8_sm90 on the host: Q and K of e4m3, and V, whose numbers are of e4m3 too, in
// fp16.

#include "kernels/reference/attention_fp8_data.hpp"

namespace napkin::internal {

class NapkinArrays {
 public:
  static constexpr std::int64_t least_subloop = 16;

  /// Fills inputs with normal numbers and the output with poison, as Fp8Arrays without scales. `summed_keys`: keys of a
  /// subloop, whose outputs are rounded and added to the others'.
  explicit NapkinArrays(const AttentionLayout& layout, std::int64_t summed_keys = least_subloop);

  Fp8Arrays bytes;               ///< all arrays but V
  std::vector<std::uint16_t> v;  ///< fp16

  /// Returns the call with strides and counts; all addresses are 0.
  [[nodiscard]] AttentionCall call() const {
    AttentionCall out = bytes.call();
    out.halves = true;
    return out;
  }
  /// Compares up to that many rows with float64. The plain formula rounds to fp16 where the kernel's instructions do.
  /// The last two roundings of the largest result are allowed even if the formula happens to do both exactly.
  [[nodiscard]] Comparison compare_all(std::int64_t rows) const;

 private:
  std::uint64_t seed_;
  std::int64_t summed_keys_;
};

/// Returns the arrays of a problem whose Q and K are bytes, V perhaps among them.
[[nodiscard]] inline Fp8Arrays& bytes_of(Fp8Arrays& arrays) { return arrays; }
[[nodiscard]] inline Fp8Arrays& bytes_of(NapkinArrays& arrays) { return arrays.bytes; }

}  // namespace napkin::internal
