#pragma once
// BytesDevice is one problem on the device whose Q and K are bytes of e4m3: Fp8Arrays or NapkinArrays, uploaded.

#include <cstdint>
#include <vector>

#include "kernels/reference/napkin_fp8_data.hpp"
#include "kernels/runtime/device_arrays.hpp"

namespace napkin::internal {

template <class Arrays>
class BytesDevice {
 public:
  /// Uploads Arrays(layout, more...). Throws CudaFailure.
  template <class... More>
  explicit BytesDevice(const Device& device, const AttentionLayout& layout, More... more)
      : device_(device), arrays_(layout, more...), call_(arrays_.call()) {
    const Fp8Arrays& bytes = bytes_of(arrays_);
    call_.q.address = device_.put(bytes.q);
    call_.k.address = device_.put(bytes.k);
    call_.v.address = device_.put(arrays_.v);
    call_.o.address = device_.put(bytes.o);
    call_.log_sum_exp = device_.put(bytes.log_sum_exp);
    call_.q_scale.address = device_.put(bytes.q_scale);
    call_.k_scale.address = device_.put(bytes.k_scale);
    call_.v_scale.address = device_.put(bytes.v_scale);
    call_.q_starts = device_.put(bytes.q_starts);
    call_.x_starts = device_.put(bytes.x_starts);
    call_.ticket = device_.put(std::vector<std::int32_t>{0, 0});
  }

  [[nodiscard]] const AttentionCall& call() const { return call_; }

  /// Sets every output element to a NaN that no kernel writes.
  void poison() const { device_.poison({call_.o.address, call_.log_sum_exp}); }
  /// Returns the current outputs.
  [[nodiscard]] const std::vector<std::uint16_t>& output() const {
    std::vector<std::uint16_t>& o = bytes_of(arrays_).o;
    device_.fetch(o, call_.o.address);
    return o;
  }
  [[nodiscard]] Comparison compare(std::int64_t rows) const {
    static_cast<void>(output());
    if (call_.log_sum_exp != 0) device_.fetch(bytes_of(arrays_).log_sum_exp, call_.log_sum_exp);
    Comparison out = arrays_.compare_all(rows);
    out.beside = first_of({device_.beside(), out.beside});
    return out;
  }

 private:
  DeviceArrays device_;
  mutable Arrays arrays_;  // outputs as last fetched from the device
  AttentionCall call_;
};

using Fp8Device = BytesDevice<Fp8Arrays>;
using NapkinDevice = BytesDevice<NapkinArrays>;

}  // namespace napkin::internal
