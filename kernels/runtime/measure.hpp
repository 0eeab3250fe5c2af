#pragma once
// A LaunchTiming has the time of a launch and its uncertainty: the state of the L2, the spread of the runs, and the
// card's clock and power meanwhile.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernels/runtime/nvml.hpp"
#include "kernels/runtime/run.hpp"

namespace napkin::internal {

enum class L2State {
  warm,  ///< launches queued in a row, as in a model's inner loop; a run is the mean of `queued` of them
  cold,  ///< launches timed alone, each after a write to a buffer larger than the L2
};

struct TimingOptions {
  L2State l2 = L2State::warm;
  Seconds warm_up = Seconds(0.1);  ///< launches before the first run
  int queued = 20;                 ///< launches of a warm run
  int least_runs = 12, most_runs = 200;
  double wanted = 0.005;         ///< standard error of the median, as a fraction, that is enough
  Seconds longest = Seconds(2);  ///< longest time of all runs
};

/// The result of timing a launch: "781 us, runs within 0.3 % of each other, L2 warm, 1.69 GHz".
struct LaunchTiming {
  Seconds time;       ///< median of one launch
  double spread = 0;  ///< (third quartile - first quartile) / median
  double error = 0;   ///< standard error of the median, as a fraction of it
  int runs = 0;
  L2State l2 = L2State::warm;
  GpuState state;  ///< medians while it ran
};

/// Returns "warm" or "cold".
[[nodiscard]] std::string_view name_of(L2State state);

/// Computes median, spread and its standard error (1.2533 x deviation / sqrt n, the deviation from the quartiles).
/// Pure.
[[nodiscard]] LaunchTiming summarise(std::vector<double> seconds);

/// Calls `launch` on the default stream repeatedly.
[[nodiscard]] LaunchTiming time_launch(const Device& device, const std::function<void()>& launch,
                                       const TimingOptions& options = {});

/// Measures the clocks from the start of an SM's first block to the end of its last, on the busiest SM, as the median
/// of `runs`. Runs `plain` before each `counting`, which writes its cycles to `spans` ([SMs, 2] of 8 bytes), so that L2
/// and clock are as in a warm run.
[[nodiscard]] Cycles measure_cycles(const Device& device, const std::function<void()>& plain,
                                    const std::function<void()>& counting, const DeviceMemory& spans, int runs = 5,
                                    int plains = 3);

/// Allocates the memory of measure_cycles().
[[nodiscard]] DeviceMemory cycle_spans(const Device& device);

/// Plans a fill with random inputs: `count` elements of bf16 or f16, N(0, deviation^2).
[[nodiscard]] LaunchPlan fill_plan(std::uint64_t to, std::int64_t count, DType type, std::uint64_t seed,
                                   double deviation, const DeviceProperties& device);

}  // namespace napkin::internal
