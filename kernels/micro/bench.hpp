#pragma once
// A Bench launches and times the plans of an experiment. GpuBench runs them on a GPU; PlanningBench only collects the
// kernels that it would run, so that they can be compiled ahead, and tested where there is no GPU.

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/runtime/nvml.hpp"
#include "kernels/runtime/run.hpp"

namespace napkin::internal {

/// A kernel that runs repeatedly until clock and power are steady.
struct SteadyLoad {
  double seconds = 0;  ///< time of one launch
  double clock = 0;    ///< hertz, NVML's median over the later part of the run; 0: not known
  double power = 0;    ///< watts; in runs of a second or more from the card's energy counter
};

class Bench {
 public:
  Bench() = default;
  virtual ~Bench() = default;
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  [[nodiscard]] virtual const DeviceProperties& device() const = 0;
  /// Returns the address of at least `bytes` bytes that all callers share; they hold what the last caller left.
  [[nodiscard]] virtual std::uint64_t memory(std::size_t bytes) = 0;
  /// Returns memory as above, filled again with random bf16 numbers, on which the power of moving data depends.
  [[nodiscard]] virtual std::uint64_t random_memory(std::size_t bytes) = 0;
  /// Returns the address of the 16 MiB into which kernels write results.
  [[nodiscard]] virtual std::uint64_t results() = 0;
  /// Launches once and returns the first `words` of the results, which were 0.
  [[nodiscard]] virtual std::vector<std::uint64_t> run(const LaunchPlan& plan, std::size_t words) = 0;
  /// Returns the mean time of a launch, of `launches` launches in a row.
  [[nodiscard]] virtual double seconds(const LaunchPlan& plan, int launches) = 0;
  [[nodiscard]] virtual SteadyLoad load(const LaunchPlan& plan, double seconds) = 0;
  /// Measures an idle GPU, with its context.
  [[nodiscard]] virtual SteadyLoad rest(double seconds) = 0;
  /// Evicts memory() from the L2.
  virtual void flush() = 0;
};

class GpuBench : public Bench {
 public:
  explicit GpuBench(Runtime& runtime);

  [[nodiscard]] const DeviceProperties& device() const override { return runtime_.device().properties(); }
  [[nodiscard]] std::uint64_t memory(std::size_t bytes) override;
  [[nodiscard]] std::uint64_t random_memory(std::size_t bytes) override;
  [[nodiscard]] std::uint64_t results() override { return results_.address(); }
  [[nodiscard]] std::vector<std::uint64_t> run(const LaunchPlan& plan, std::size_t words) override;
  [[nodiscard]] double seconds(const LaunchPlan& plan, int launches) override;
  [[nodiscard]] SteadyLoad load(const LaunchPlan& plan, double seconds) override;
  [[nodiscard]] SteadyLoad rest(double seconds) override;
  void flush() override;

 private:
  Runtime& runtime_;
  DeviceMemory results_, memory_, flush_;
};

/// A bench that runs nothing and records the plans. Its clocks and times are all 1.
class PlanningBench : public Bench {
 public:
  explicit PlanningBench(DeviceProperties device) : device_(std::move(device)) {}

  [[nodiscard]] const DeviceProperties& device() const override { return device_; }
  [[nodiscard]] std::uint64_t memory(std::size_t) override { return 1 << 20; }
  [[nodiscard]] std::uint64_t random_memory(std::size_t) override { return 1 << 20; }
  [[nodiscard]] std::uint64_t results() override { return 1 << 20; }
  [[nodiscard]] std::vector<std::uint64_t> run(const LaunchPlan& plan, std::size_t words) override;
  [[nodiscard]] double seconds(const LaunchPlan& plan, int launches) override;
  [[nodiscard]] SteadyLoad load(const LaunchPlan& plan, double seconds) override;
  [[nodiscard]] SteadyLoad rest(double) override { return {1, 1, 1}; }
  void flush() override {}

  /// Returns each variant once, by its expression.
  [[nodiscard]] const std::map<std::string, LaunchPlan>& plans() const { return plans_; }

 private:
  DeviceProperties device_;
  std::map<std::string, LaunchPlan> plans_;
};

}  // namespace napkin::internal
