#pragma once
// BytesTrial prepares a trial of a kernel whose Q and K are bytes of e4m3: its problem is Data, its plan Planner's.

#include "kernels/reference/attention_trial.hpp"
#include "kernels/reference/bundled.hpp"

namespace napkin::internal {

template <class Data, auto Planner>
class BytesTrial : public KernelTrial {
 public:
  template <class... More>
  BytesTrial(Runtime& runtime, const AttentionLayout& layout, const TrialOptions& options, More... more)
      : device_(runtime.device()),
        data_(runtime.device(), layout, more...),
        spans_(cycle_spans(runtime.device())),
        rows_(options.rows) {}

  [[nodiscard]] LaunchPlan plan(const PlacedDiagram& placed, bool counting) const override {
    AttentionCall call = data_.call();
    if (counting) call.cycles = spans_.address();
    return Planner(placed, call, device_.launch_device());
  }
  [[nodiscard]] const DeviceMemory& spans() const override { return spans_; }
  void poison() const override { data_.poison(); }
  [[nodiscard]] Comparison check(Extent extent) const override {
    Comparison out = data_.compare(rows_);
    if (extent == Extent::rows) {
      out.strayed = 0;
      out.beside.clear();
    }
    return out;
  }

 private:
  Device device_;
  Data data_;
  DeviceMemory spans_;
  std::int64_t rows_;
};

/// Makes the kernel of that name. `More` are the arguments of its problem beside a layout.
template <class Data, auto Planner, auto... More>
[[nodiscard]] BundledKernel bytes_bundled(const char* name) {
  const auto variant = [](const PlacedDiagram& placed, bool counting, const LaunchDevice& device) {
    return Planner(placed, call_without_arrays(placed, counting), device);
  };
  const auto trial = [](Runtime& runtime, const PlacedDiagram& placed, const TrialOptions& options) {
    std::unique_ptr<KernelTrial> out =
        std::make_unique<BytesTrial<Data, Planner>>(runtime, attention_layout(placed, options.seed), options, More...);
    return out;
  };
  return {name, variant, trial, nullptr};
}

}  // namespace napkin::internal
