#include "apps/library/judge/instrument.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <mutex>
#include <thread>

#include "kernels/jit/failure.hpp"
#include "kernels/runtime/counters.hpp"
#include "model/base/parallel.hpp"

namespace napkin::internal {
namespace {

constexpr int bursts = 7;
constexpr double lead = 0.003, burst = 0.02;  // seconds of untimed and of timed launches

/// Times bursts. Before each the card idles for pace.rest, then runs 3 ms untimed so that the clock rises; 20 ms are
/// timed.
LaunchTiming time_bursts(const Device& device, const std::function<void()>& launch, const TimingPace& pace) {
  Event start = device.event(), stop = device.event();
  const auto run = [&](int launches) {
    start.record();
    for (int i = 0; i < launches; ++i) launch();
    stop.record();
    return stop.since(start).value / launches;
  };
  double one = run(2);
  std::vector<double> seconds;
  for (int i = 0; i < pace.timing.most_runs; ++i) {
    device.synchronize();
    std::this_thread::sleep_for(std::chrono::duration<double>(pace.rest.value));
    for (double led = 0; led < lead; led += one) launch();
    one = run(std::max(static_cast<int>(burst / one), 1));
    seconds.push_back(one);
  }
  LaunchTiming out = summarise(std::move(seconds));
  out.l2 = pace.timing.l2;
  return out;
}

std::optional<double> finite(double value) {
  return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

}  // namespace

TimingPace patient_pace(L2State l2) {
  TimingPace pace;
  pace.timing.l2 = l2;
  return pace;
}

TimingPace pace_under(const CardLoad& load, L2State l2) {
  TimingPace pace = patient_pace(l2);
  // precision of 0, which is never reached: runs for `longest`, since the clock swings at the power limit
  pace.timing.wanted = 0;
  pace.timing.warm_up = Seconds(2);
  pace.timing.longest = Seconds(1);
  pace.timing.most_runs = 2000;
  if (load.kind != CardLoad::Kind::burst) return pace;
  pace.timing.warm_up = Seconds(0);
  pace.timing.least_runs = pace.timing.most_runs = bursts;
  pace.rest = Seconds(0.3);
  return pace;
}

TimingPace brisk_pace(L2State l2, double seconds, double launch) {
  constexpr double run = 0.004;
  TimingPace pace;
  pace.timing.l2 = l2;
  pace.timing.warm_up = Seconds(seconds * 0.25);
  pace.timing.longest = Seconds(seconds * 0.5);
  pace.timing.wanted = 0;
  pace.timing.queued = static_cast<int>(std::clamp(std::ceil(run / std::max(launch, 1e-6)), 1.0, 20.0));
  pace.timing.least_runs = 5;
  return pace;
}

std::vector<LaunchPlan> variants_of(const BundledKernel& kernel, const PlacedDiagram& placed, bool cycles,
                                    const LaunchDevice& device) {
  std::vector<LaunchPlan> plans{kernel.variant(placed, false, device)};
  if (cycles) plans.push_back(kernel.variant(placed, true, device));
  return plans;
}

std::map<std::string, std::string> compile_ahead(const std::vector<LaunchPlan>& plans, const Environment& environment,
                                                 int threads, const std::function<void(std::size_t done)>& progress) {
  std::map<std::string, const LaunchPlan*> distinct;
  for (const LaunchPlan& plan : plans) distinct.emplace(plan.expression, &plan);
  std::vector<const LaunchPlan*> todo;
  for (const auto& [expression, plan] : distinct) todo.push_back(plan);

  std::map<std::string, std::string> refused;
  std::mutex mutex;
  std::size_t done = 0;
  parallel_for(todo.size(), static_cast<std::size_t>(threads), [&](std::size_t i) {
    std::string why;
    try {
      static_cast<void>(compile(*todo[i], environment));
    } catch (const std::exception& failure) {
      why = failure.what();
    }
    const std::lock_guard lock(mutex);
    if (!why.empty()) refused.emplace(todo[i]->expression, why);
    progress(++done);
  });
  return refused;
}

Workbench::Workbench(Runtime& runtime, const Measurable& measurable, const BundledKernel& kernel, const Tile& any,
                     const TrialOptions& options)
    : runtime_(runtime),
      measurable_(measurable),
      trial_(kernel.trial(runtime, measurable.placer->place(any), options)) {}

MountedTile Workbench::mount(const Tile& tile, bool cycles, KernelTrial::Extent extent) {
  const PlacedDiagram placed = measurable_.placer->place(tile);
  MountedTile out{runtime_.prepare(trial_->plan(placed, false)), std::nullopt, {}};
  if (cycles) out.counting = runtime_.prepare(trial_->plan(placed, true));
  trial_->poison();
  out.plain();
  out.correctness = trial_->check(extent);
  return out;
}

LaunchTiming Workbench::time(const MountedTile& tile, const TimingPace& pace) const {
  if (pace.rest.value > 0)
    return time_bursts(
        runtime_.device(), [&] { tile.plain(); }, pace);
  return time_launch(
      runtime_.device(), [&] { tile.plain(); }, pace.timing);
}

MeasuredAnswer Workbench::measure(const MountedTile& tile, const TimingPace& pace) const {
  const LaunchTiming timing = time(tile, pace);
  MeasuredAnswer out;
  out.time = timing.time.value;
  out.time_spread = timing.spread;
  out.runs = timing.runs;
  out.l2 = std::string(name_of(timing.l2));
  if (timing.state.sm_clock) out.clock = timing.state.sm_clock->value;
  if (timing.state.power) out.power = timing.state.power->value;
  if (tile.counting) {
    const int plains =
        static_cast<int>(std::clamp(std::ceil(pace.cycle_lead.value / std::max(out.time, 1e-6)), 3.0, 1000.0));
    const Cycles cycles = measure_cycles(
        runtime_.device(), [&] { tile.plain(); }, [&] { (*tile.counting)(); }, trial_->spans(), pace.cycle_runs,
        plains);
    out.cycles = cycles.value;
  }
  out.registers_per_thread = tile.plain.kernel().compiled.report.registers;
  out.shared_memory = tile.plain.plan().shared;
  const Comparison& c = tile.correctness;
  if (c.unwritten == 0 && c.strayed == 0 && c.lse_error <= 1e-3) out.max_error = finite(c.max_error);
  out.reference_error = finite(c.reference_error);
  return out;
}

std::string Workbench::count_bytes(const MountedTile& tile, MeasuredAnswer& into) const {
  const Device& device = runtime_.device();
  const DeviceMemory flush = device.allocate(static_cast<std::size_t>(2 * device.properties().l2.value.get()));
  const CounterReading reading = count(
      device, [&] { device.set(flush, 0); }, [&] { tile.plain(); }, byte_counters, process_environment().compiler);
  const auto value = [&](std::size_t i) -> std::optional<double> {
    const auto found = reading.values.find(byte_counters[i]);
    return found == reading.values.end() ? std::nullopt : std::optional<double>(found->second);
  };
  into.l2_to_sm_bytes = value(0);
  into.dram_read_bytes = value(1);
  into.dram_write_bytes = value(2);
  return reading.refused;
}

}  // namespace napkin::internal
