#include "kernels/reference/attention_fp8_device.hpp"
#include "kernels/reference/attention_trial.hpp"
#include "kernels/reference/bundled.hpp"

namespace napkin {
namespace {

class Fp8Trial : public KernelTrial {
 public:
  Fp8Trial(Runtime& runtime, const AttentionLayout& layout, const TrialOptions& options)
      : device_(runtime.device()),
        data_(runtime.device(), layout, Fp8Scales::head),
        spans_(cycle_spans(runtime.device())),
        rows_(options.rows) {}

  [[nodiscard]] LaunchPlan plan(const PlacedDiagram& placed, bool counting) const override {
    AttentionCall call = data_.call();
    if (counting) call.cycles = spans_.address();
    return attention_fp8_sm90_plan(placed, call, device_.launch_device());
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
  Fp8Device data_;
  DeviceMemory spans_;
  std::int64_t rows_;
};

}  // namespace

BundledKernel attention_fp8_sm90_bundled() {
  const auto variant = [](const PlacedDiagram& placed, bool counting, const LaunchDevice& device) {
    return attention_fp8_sm90_plan(placed, call_without_arrays(placed, counting), device);
  };
  const auto trial = [](Runtime& runtime, const PlacedDiagram& placed, const TrialOptions& options) {
    std::unique_ptr<KernelTrial> out =
        std::make_unique<Fp8Trial>(runtime, attention_layout(placed, options.seed), options);
    return out;
  };
  return {"attention_fp8_sm90", variant, trial, nullptr};
}

}  // namespace napkin
