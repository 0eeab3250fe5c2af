#pragma once
// An AttentionProblem is one attention problem under one tile, on the GPU: the GPU tests and run_attention make it.

#include <string>

#include "kernels/plans/attention.hpp"
#include "kernels/reference/attention_data.hpp"
#include "tests/support/layout.hpp"

namespace napkin::internal::test {

inline Shape shape_of(const AttentionSizes& s) {
  return {{"b", s.b}, {"h", s.h}, {"g", s.g}, {"q", s.q}, {"x", s.x}, {"d", s.d}, {"dv", s.dv}};
}

class AttentionProblem {
 public:
  AttentionProblem(Runtime& runtime, const std::string& gpu, const AttentionLayout& layout, const Knobs& knobs,
                   const std::string& kernel = "attention_sm90")
      : laid_out_(kernel, gpu, shape_of(layout.sizes), layout.type, layout.mask),
        placed_(laid_out_.place(knobs)),
        data_(runtime, layout),
        launch_(runtime.prepare(attention_plan(placed_, data_.call(), runtime.device().launch_device()))) {}

  [[nodiscard]] const AttentionData& data() const { return data_; }
  [[nodiscard]] const ReadyLaunch& launch() const { return launch_; }
  [[nodiscard]] ReadyLaunch counting(Runtime& runtime) const {
    return runtime.prepare(attention_plan(placed_, data_.counting_call(), runtime.device().launch_device()));
  }
  [[nodiscard]] const LaidOut& laid_out() const { return laid_out_; }
  [[nodiscard]] const PlacedDiagram& placed() const { return placed_; }

  /// Runs the kernel once on poisoned outputs and compares up to `rows` rows.
  [[nodiscard]] Comparison check(std::int64_t rows, std::uint64_t seed = 1) const {
    data_.poison();
    launch_();
    return compare(data_.download(), rows, seed);
  }

 private:
  LaidOut laid_out_;
  PlacedDiagram placed_;
  AttentionData data_;
  ReadyLaunch launch_;
};

}  // namespace napkin::internal::test
