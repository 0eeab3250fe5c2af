#pragma once
// Fp8Device is one problem of attention_fp8_sm90 on the device: Fp8Arrays, uploaded.

#include <cstdint>
#include <vector>

#include "kernels/launch/attention_fp8_data.hpp"
#include "kernels/launch/device.hpp"

namespace napkin {

class Fp8Device {
 public:
  /// Throws CudaFailure.
  Fp8Device(const Device& device, const AttentionLayout& layout, Fp8Scales scales)
      : device_(device), arrays_(layout, scales), call_(arrays_.call()) {
    call_.q.address = put(arrays_.q);
    call_.k.address = put(arrays_.k);
    call_.v.address = put(arrays_.v);
    call_.o.address = put(arrays_.o);
    call_.log_sum_exp = put(arrays_.log_sum_exp);
    call_.q_scale.address = put(arrays_.q_scale);
    call_.k_scale.address = put(arrays_.k_scale);
    call_.v_scale.address = put(arrays_.v_scale);
    call_.q_starts = put(arrays_.q_starts);
    call_.x_starts = put(arrays_.x_starts);
    call_.ticket = put(std::vector<std::int32_t>{0, 0});
  }

  [[nodiscard]] const AttentionCall& call() const { return call_; }

  /// Every output element becomes a NaN that no kernel writes.
  void poison() const {
    for (const DeviceMemory& memory : memory_) {
      if (memory.address() == call_.o.address || memory.address() == call_.log_sum_exp) device_.set(memory, 0xFF);
    }
  }
  /// The outputs as they are now.
  [[nodiscard]] const std::vector<std::uint16_t>& output() const {
    fetch(arrays_.o, call_.o.address);
    return arrays_.o;
  }
  [[nodiscard]] Comparison compare(std::int64_t rows) const {
    fetch(arrays_.o, call_.o.address);
    if (call_.log_sum_exp != 0) fetch(arrays_.log_sum_exp, call_.log_sum_exp);
    return arrays_.compare_all(rows);
  }

 private:
  template <class T>
  [[nodiscard]] std::uint64_t put(const std::vector<T>& values) {
    if (values.empty()) return 0;
    memory_.push_back(device_.allocate(values.size() * sizeof(T)));
    device_.upload(memory_.back().address(), values.data(), values.size() * sizeof(T));
    return memory_.back().address();
  }
  template <class T>
  void fetch(std::vector<T>& to, std::uint64_t from) const {
    device_.synchronize();
    device_.download(to.data(), from, to.size() * sizeof(T));
  }

  Device device_;
  mutable Fp8Arrays arrays_;  // its outputs are those of the device, when they were fetched last
  AttentionCall call_;
  std::vector<DeviceMemory> memory_;
};

}  // namespace napkin
