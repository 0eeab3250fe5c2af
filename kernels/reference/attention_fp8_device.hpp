#pragma once
// Fp8Device is one problem of attention_fp8_sm90 on the device: Fp8Arrays, uploaded.

#include <cstdint>
#include <vector>

#include "kernels/reference/attention_fp8_data.hpp"
#include "kernels/runtime/device_arrays.hpp"

namespace napkin {

class Fp8Device {
 public:
  /// Throws CudaFailure.
  Fp8Device(const Device& device, const AttentionLayout& layout, Fp8Scales scales)
      : device_(device), arrays_(layout, scales), call_(arrays_.call()) {
    call_.q.address = device_.put(arrays_.q);
    call_.k.address = device_.put(arrays_.k);
    call_.v.address = device_.put(arrays_.v);
    call_.o.address = device_.put(arrays_.o);
    call_.log_sum_exp = device_.put(arrays_.log_sum_exp);
    call_.q_scale.address = device_.put(arrays_.q_scale);
    call_.k_scale.address = device_.put(arrays_.k_scale);
    call_.v_scale.address = device_.put(arrays_.v_scale);
    call_.q_starts = device_.put(arrays_.q_starts);
    call_.x_starts = device_.put(arrays_.x_starts);
    call_.ticket = device_.put(std::vector<std::int32_t>{0, 0});
  }

  [[nodiscard]] const AttentionCall& call() const { return call_; }

  /// Sets every output element to a NaN that no kernel writes.
  void poison() const { device_.poison({call_.o.address, call_.log_sum_exp}); }
  /// Returns the current outputs.
  [[nodiscard]] const std::vector<std::uint16_t>& output() const {
    device_.fetch(arrays_.o, call_.o.address);
    return arrays_.o;
  }
  [[nodiscard]] Comparison compare(std::int64_t rows) const {
    device_.fetch(arrays_.o, call_.o.address);
    if (call_.log_sum_exp != 0) device_.fetch(arrays_.log_sum_exp, call_.log_sum_exp);
    Comparison out = arrays_.compare_all(rows);
    out.beside = first_of({device_.beside(), out.beside});
    return out;
  }

 private:
  DeviceArrays device_;
  mutable Fp8Arrays arrays_;  // outputs as last fetched from the device
  AttentionCall call_;
};

}  // namespace napkin
