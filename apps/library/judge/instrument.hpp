#pragma once
// A Workbench measures tiles of one question on the GPU: it compiles each, checks it against float64, times it and
// counts its bytes. Internal to apps/.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/library/judge/replay.hpp"
#include "kernels/reference/bundled.hpp"
#include "kernels/runtime/measure.hpp"

namespace napkin {

/// How much time a measurement takes.
struct TimingPace {
  TimingOptions timing;
  int cycle_runs = 9;
  Seconds cycle_lead = Seconds(0.004);  ///< of plain launches before each of them
};
/// A single tile: until its median is known to half a percent.
[[nodiscard]] TimingPace patient_pace(L2State l2);
/// One of a sweep's many: `seconds` for a launch of that length, a quarter of them to warm up and half of them timed,
/// also where the median seems known before: the card holds its power limit by steps that are longer than a run.
[[nodiscard]] TimingPace brisk_pace(L2State l2, double seconds, double launch);

/// The variants of a placed tile that a measurement runs: the plain one, and the one that counts its cycles.
[[nodiscard]] std::vector<LaunchPlan> variants_of(const BundledKernel& kernel, const PlacedDiagram& placed, bool cycles,
                                                  const LaunchDevice& device);

/// Compiles into the disk cache with several threads, each variant once; says by variant why one was refused.
[[nodiscard]] std::map<std::string, std::string> compile_ahead(const std::vector<LaunchPlan>& plans,
                                                               const Environment& environment, int threads,
                                                               const std::function<void(std::size_t done)>& progress);

/// A tile that is ready to run.
struct MountedTile {
  ReadyLaunch plain;
  std::optional<ReadyLaunch> counting;
  Comparison correctness;
};

class Workbench {
 public:
  /// Inputs for that question. Throws CudaFailure.
  Workbench(Runtime& runtime, const Measurable& measurable, const BundledKernel& kernel, const Tile& any,
            const TrialOptions& options);

  /// Compiled, loaded, run once and compared. Throws CudaFailure where the compiler refuses it.
  [[nodiscard]] MountedTile mount(const Tile& tile, bool cycles, KernelTrial::Extent extent);
  [[nodiscard]] LaunchTiming time(const MountedTile& tile, const TimingPace& pace) const;
  /// Time, clock, power, cycles, and what mounting found.
  [[nodiscard]] MeasuredAnswer measure(const MountedTile& tile, const TimingPace& pace) const;
  /// Bytes, by the GPU's counters, from a cold L2. Returns "" or why they are not to be had.
  [[nodiscard]] std::string count_bytes(const MountedTile& tile, MeasuredAnswer& into) const;

 private:
  Runtime& runtime_;
  const Measurable& measurable_;
  std::unique_ptr<KernelTrial> trial_;
};

}  // namespace napkin
