#include "kernels/runtime/measure.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/jit/source.hpp"
#include "kernels/runtime/fill_arguments.cuh"
#include "kernels/runtime/stopwatch.hpp"
#include "model/machine/calibrate/fit.hpp"

namespace napkin::internal {
namespace {

/// The measurement of one launch's seconds by one run.
class OneRun {
 public:
  OneRun(const Device& device, const std::function<void()>& launch, const TimingOptions& options)
      : device_(device), launch_(launch), options_(options), start_(device.event()), stop_(device.event()) {
    if (options.l2 == L2State::cold)
      flush_ = device.allocate(static_cast<std::size_t>(2 * device.properties().l2.value.get()));
  }
  double operator()() {
    const int launches = options_.l2 == L2State::warm ? options_.queued : 1;
    if (options_.l2 == L2State::cold) device_.set(flush_, 0);
    start_.record();
    for (int i = 0; i < launches; ++i) launch_();
    stop_.record();
    return stop_.since(start_).value / launches;
  }

 private:
  const Device& device_;
  const std::function<void()>& launch_;
  const TimingOptions& options_;
  DeviceMemory flush_;
  Event start_, stop_;
};

}  // namespace

std::string_view name_of(L2State state) { return state == L2State::warm ? "warm" : "cold"; }

LaunchTiming summarise(std::vector<double> seconds) {
  LaunchTiming out;
  out.runs = static_cast<int>(seconds.size());
  if (seconds.empty()) return out;
  const Estimate median = estimate(std::move(seconds));
  out.time = Seconds(median.value);
  out.spread = median.spread;
  out.error = 1.2533 * (out.spread / 1.349) / std::sqrt(static_cast<double>(out.runs));
  return out;
}

LaunchTiming time_launch(const Device& device, const std::function<void()>& launch, const TimingOptions& options) {
  OneRun run(device, launch, options);
  const Stopwatch warming;
  do {
    run();
  } while (warming.seconds() < options.warm_up.value);

  StateSampler sampler(Nvml::open(device.properties().bus_id), Seconds(0.01));
  const Stopwatch running;
  std::vector<double> seconds;
  LaunchTiming timing;
  do {
    seconds.push_back(run());
    timing = summarise(seconds);
    if (timing.runs >= options.least_runs && timing.error <= options.wanted) break;
  } while (timing.runs < options.most_runs &&
           (timing.runs < options.least_runs || running.seconds() < options.longest.value));
  timing.l2 = options.l2;
  timing.state = sampler.finish();
  return timing;
}

DeviceMemory cycle_spans(const Device& device) {
  return device.allocate(static_cast<std::size_t>(device.properties().sms) * 2 * sizeof(std::uint64_t));
}

Cycles measure_cycles(const Device& device, const std::function<void()>& plain, const std::function<void()>& counting,
                      const DeviceMemory& spans, int runs, int plains) {
  const auto sms = static_cast<std::size_t>(device.properties().sms);
  std::vector<std::uint64_t> host(2 * sms);
  std::vector<double> all;
  for (int run = 0; run < runs; ++run) {
    for (std::size_t i = 0; i < sms; ++i) {
      host[2 * i] = std::numeric_limits<std::uint64_t>::max();
      host[2 * i + 1] = 0;
    }
    device.upload(spans.address(), host.data(), spans.bytes());
    for (int i = 0; i < plains; ++i) plain();
    counting();
    device.synchronize();
    device.download(host.data(), spans.address(), spans.bytes());
    std::uint64_t busiest = 0;
    for (std::size_t i = 0; i < sms; ++i) {
      if (host[2 * i + 1] > host[2 * i]) busiest = std::max(busiest, host[2 * i + 1] - host[2 * i]);
    }
    all.push_back(static_cast<double>(busiest));
  }
  return Cycles(all.empty() ? 0 : estimate(std::move(all)).value);
}

LaunchPlan fill_plan(std::uint64_t to, std::int64_t count, DType type, std::uint64_t seed, double deviation,
                     const DeviceProperties& device) {
  const FillArguments arguments{reinterpret_cast<unsigned short*>(to), count, seed, static_cast<float>(deviation)};
  LaunchPlan out;
  out.source = "kernels/runtime/fill.cuh";
  out.expression = name_expression("fill_normal", Initialiser("napkin::FillConfig").set("bf16", type == DType::bf16));
  out.architecture = device.architecture;
  out.grid = static_cast<unsigned>(4 * device.sms);
  out.threads = 256;
  out.arguments.resize(sizeof arguments);
  std::memcpy(out.arguments.data(), &arguments, sizeof arguments);
  return out;
}

}  // namespace napkin::internal
