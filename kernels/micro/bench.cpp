#include "kernels/micro/bench.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "kernels/runtime/card.hpp"
#include "kernels/runtime/measure.hpp"
#include "kernels/runtime/stopwatch.hpp"

namespace napkin::internal {
namespace {

constexpr std::size_t result_bytes = std::size_t{16} << 20;
constexpr double counted_seconds = 1;  // seconds of a run from which on the steps of the energy counter are small
constexpr double settling = 0.4;       // share of a load's time before its power is read, since NVML's averages lag

void put(const GpuState& state, SteadyLoad& into) {
  if (state.sm_clock) into.clock = state.sm_clock->value;
  if (state.power) into.power = state.power->value;
}

}  // namespace

GpuBench::GpuBench(Runtime& runtime) : runtime_(runtime), results_(runtime.device().allocate(result_bytes)) {}

std::uint64_t GpuBench::memory(std::size_t bytes) {
  if (bytes > memory_.bytes()) {
    memory_ = DeviceMemory();  // frees the old memory before it allocates the new
    memory_ = runtime_.device().allocate(bytes);
  }
  return memory_.address();
}

std::uint64_t GpuBench::random_memory(std::size_t bytes) {
  const std::uint64_t address = memory(bytes);
  runtime_.prepare(fill_plan(address, static_cast<std::int64_t>(bytes / 2), DType::bf16, 1, 1, device()))();
  runtime_.device().synchronize();
  return address;
}

std::vector<std::uint64_t> GpuBench::run(const LaunchPlan& plan, std::size_t words) {
  const ReadyLaunch launch = runtime_.prepare(plan);
  const Device& device = runtime_.device();
  std::vector<std::uint64_t> out(words, 0);
  device.upload(results_.address(), out.data(),
                words * sizeof(std::uint64_t));  // no other memory, since what the L2 holds is measured too
  launch();
  device.synchronize();
  device.download(out.data(), results_.address(), words * sizeof(std::uint64_t));
  return out;
}

double GpuBench::seconds(const LaunchPlan& plan, int launches) {
  const ReadyLaunch launch = runtime_.prepare(plan);
  Event start = runtime_.device().event(), stop = runtime_.device().event();
  launch();
  start.record();
  for (int i = 0; i < launches; ++i) launch();
  stop.record();
  return stop.since(start).value / launches;
}

SteadyLoad GpuBench::load(const LaunchPlan& plan, double seconds) {
  SteadyLoad out;
  const double launch = this->seconds(plan, 2);
  const int several = std::max(1, static_cast<int>(0.02 / launch));  // 20 ms between two looks at the clock
  const Stopwatch settled;
  while (settled.seconds() < settling * seconds) out.seconds = this->seconds(plan, several);
  StateSampler sampler(Nvml::open(device().bus_id), Seconds(0.01));
  const auto counter = EnergyCounter::open(device().bus_id);
  const double before = counter ? counter->joules() : 0;
  const Stopwatch running;
  std::vector<double> times;
  while (running.seconds() < (1 - settling) * seconds) times.push_back(this->seconds(plan, several));
  const double ran = running.seconds(), taken = counter ? counter->joules() - before : 0;
  put(sampler.finish(), out);
  out.seconds = summarise(times).time.value;
  if (ran < counted_seconds || taken <= 0) return out;
  out.power = taken / ran;
  out.seconds = std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
  return out;
}

SteadyLoad GpuBench::rest(double seconds) {
  runtime_.device().synchronize();
  const auto pause = [](double s) { std::this_thread::sleep_for(std::chrono::duration<double>(s)); };
  pause(settling * seconds);
  StateSampler sampler(Nvml::open(device().bus_id), Seconds(0.01));
  pause((1 - settling) * seconds);
  SteadyLoad out{1, 0, 0};
  put(sampler.finish(), out);
  return out;
}

void GpuBench::flush() {
  const auto bytes = static_cast<std::size_t>(2 * device().l2.value.get());
  if (flush_.bytes() < bytes) flush_ = runtime_.device().allocate(bytes);
  runtime_.device().set(flush_, 0);
  runtime_.device().synchronize();
}

std::vector<std::uint64_t> PlanningBench::run(const LaunchPlan& plan, std::size_t words) {
  plans_.emplace(plan.expression, plan);
  return std::vector<std::uint64_t>(words, 1);
}
double PlanningBench::seconds(const LaunchPlan& plan, int) {
  plans_.emplace(plan.expression, plan);
  return 1;
}
SteadyLoad PlanningBench::load(const LaunchPlan& plan, double) {
  plans_.emplace(plan.expression, plan);
  return {1, 1, 1};
}

}  // namespace napkin::internal
