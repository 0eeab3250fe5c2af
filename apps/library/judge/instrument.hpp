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

namespace napkin::internal {

/// The time that a measurement may take.
struct TimingPace {
  TimingOptions timing;
  int cycle_runs = 9;
  Seconds cycle_lead = Seconds(0.004);  ///< seconds of plain launches before each cycle count
  Seconds rest;                         ///< idle seconds before each run, which is then a burst; 0: no rests
};
/// Returns the pace for a single tile: runs until the median is known to half a percent.
[[nodiscard]] TimingPace patient_pace(L2State l2);
/// Returns the pace under a load: sustained, after two seconds of it; or bursts of 20 ms, each after a rest.
[[nodiscard]] TimingPace pace_under(const CardLoad& load, L2State l2);
/// Returns the pace for a tile of a sweep: `seconds` in all, a quarter to warm up and half timed, even if the median
/// settles earlier. A shorter run would see the card between two steps of its power control.
[[nodiscard]] TimingPace brisk_pace(L2State l2, double seconds, double launch);

/// Returns the variants of a placed tile that a measurement runs: the plain one, and the one that counts its cycles.
[[nodiscard]] std::vector<LaunchPlan> variants_of(const BundledKernel& kernel, const PlacedDiagram& placed, bool cycles,
                                                  const LaunchDevice& device);

/// Compiles into the disk cache with several threads, each variant once. Returns the reason of each that was refused.
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
  /// Prepares inputs for the question. Throws CudaFailure.
  Workbench(Runtime& runtime, const Measurable& measurable, const BundledKernel& kernel, const Tile& any,
            const TrialOptions& options);

  /// Compiles, loads and runs the tile once, and compares its result. Throws CudaFailure if the compiler refuses it.
  [[nodiscard]] MountedTile mount(const Tile& tile, bool cycles, KernelTrial::Extent extent);
  [[nodiscard]] LaunchTiming time(const MountedTile& tile, const TimingPace& pace) const;
  /// Measures time, clock, power and cycles, and copies what mounting found.
  [[nodiscard]] MeasuredAnswer measure(const MountedTile& tile, const TimingPace& pace) const;
  /// Counts bytes from a cold L2 by the GPU's counters. Returns "", or the reason why they cannot be read.
  [[nodiscard]] std::string count_bytes(const MountedTile& tile, MeasuredAnswer& into) const;

 private:
  Runtime& runtime_;
  const Measurable& measurable_;
  std::unique_ptr<KernelTrial> trial_;
};

}  // namespace napkin::internal
