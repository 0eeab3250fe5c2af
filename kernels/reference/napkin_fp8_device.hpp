#pragma once
// NapkinDevice is one problem of napkin_fp8_sm90 on the device: NapkinArrays, uploaded.

#include "kernels/reference/napkin_fp8_data.hpp"
#include "kernels/runtime/device_arrays.hpp"

namespace napkin {

class NapkinDevice {
 public:
  /// Throws CudaFailure.
  NapkinDevice(const Device& device, const AttentionLayout& layout,
               std::int64_t summed_keys = NapkinArrays::least_subloop)
      : device_(device), arrays_(layout, summed_keys), call_(arrays_.call()) {
    call_.q.address = device_.put(arrays_.bytes.q);
    call_.k.address = device_.put(arrays_.bytes.k);
    call_.v.address = device_.put(arrays_.v);
    call_.o.address = device_.put(arrays_.bytes.o);
    call_.log_sum_exp = device_.put(arrays_.bytes.log_sum_exp);
    call_.q_starts = device_.put(arrays_.bytes.q_starts);
    call_.x_starts = device_.put(arrays_.bytes.x_starts);
  }

  [[nodiscard]] const AttentionCall& call() const { return call_; }

  /// Sets every output element to a NaN that no kernel writes.
  void poison() const { device_.poison({call_.o.address, call_.log_sum_exp}); }
  /// Returns the current outputs.
  [[nodiscard]] const std::vector<std::uint16_t>& output() const {
    device_.fetch(arrays_.bytes.o, call_.o.address);
    return arrays_.bytes.o;
  }
  [[nodiscard]] Comparison compare(std::int64_t rows) const {
    device_.fetch(arrays_.bytes.o, call_.o.address);
    if (call_.log_sum_exp != 0) device_.fetch(arrays_.bytes.log_sum_exp, call_.log_sum_exp);
    Comparison out = arrays_.compare_all(rows);
    out.beside = first_of({device_.beside(), out.beside});
    return out;
  }

 private:
  DeviceArrays device_;
  mutable NapkinArrays arrays_;  // outputs as last fetched from the device
  AttentionCall call_;
};

}  // namespace napkin
