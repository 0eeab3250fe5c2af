#include "kernels/reference/bundled.hpp"
#include "kernels/reference/matmul_data.hpp"

namespace napkin::internal {
namespace {

MatmulLayout layout_of(const PlacedDiagram& placed, std::uint64_t seed) {
  const auto size = [&](std::string_view axis) {
    return placed.problem->sizes[static_cast<std::size_t>(placed.streamed->diagram.axis(axis))].get();
  };
  MatmulLayout out;
  out.sizes = {size("a"), size("b"), size("c")};
  out.type = placed.problem->dtype;
  out.seed = seed;
  return out;
}

class MatmulTrial : public KernelTrial {
 public:
  MatmulTrial(Runtime& runtime, const MatmulLayout& layout, const TrialOptions& options)
      : device_(runtime.device()),
        type_(layout.type),
        columns_(layout.sizes.c),
        data_(runtime, layout),
        rows_(spread_rows(layout.sizes.a, options.rows, options.seed)) {
    reference_ = reference_rows(data_.inputs(), rows_, options.threads);
  }

  [[nodiscard]] LaunchPlan plan(const PlacedDiagram& placed, bool counting) const override {
    const LaunchScratch scratch = matmul_scratch(placed);
    return matmul_plan(placed, counting ? data_.counting_call(scratch) : data_.call(scratch), device_.launch_device());
  }
  [[nodiscard]] const DeviceMemory& spans() const override { return data_.spans(); }
  void poison() const override { data_.poison(); }

  [[nodiscard]] Comparison check(Extent extent) const override {
    Comparison out;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      compare_row(data_.row(rows_[i]), reference_[i], result_type(type_), out);
    if (extent == Extent::everything) {
      count_poison(data_.output(), columns_, out);
      out.beside = first_of({data_.beside(), out.beside});
    }
    return out;
  }

 private:
  Device device_;
  DType type_;
  std::int64_t columns_;
  MatmulData data_;
  std::vector<std::int64_t> rows_;
  std::vector<std::vector<double>> reference_;
};

LaunchPlan variant(const PlacedDiagram& placed, bool counting, const LaunchDevice& device) {
  constexpr std::uint64_t somewhere = 4096;  // any aligned address: nothing is launched with it
  const MatrixView nowhere{somewhere, 16};
  return matmul_plan(placed, {nowhere, nowhere, nowhere, counting ? somewhere : 0, somewhere, somewhere}, device);
}

std::unique_ptr<KernelTrial> trial(Runtime& runtime, const PlacedDiagram& placed, const TrialOptions& options) {
  return std::make_unique<MatmulTrial>(runtime, layout_of(placed, options.seed), options);
}

}  // namespace

BundledKernel matmul_sm90_bundled() { return {"matmul_sm90", variant, trial}; }

BundledKernel matmul_fp8_sm90_bundled() { return {"matmul_fp8_sm90", variant, trial}; }

}  // namespace napkin::internal
