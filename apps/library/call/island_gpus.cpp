#include "apps/library/call/island_gpus.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/jit/failure.hpp"
#include "kernels/reference/reference.hpp"
#include "kernels/runtime/measure.hpp"
#include "kernels/runtime/stopwatch.hpp"

namespace napkin::internal {
namespace {

constexpr double least_runs = 5, most_runs = 4000, shortest = 1e-6;  // seconds
constexpr int joins = 25;                                            // joins that are timed, whose time is subtracted
constexpr std::int64_t bytes_of_16_bits = 2;

std::vector<std::unique_ptr<IslandGpu>> open_gpus(int gpus) {
  if (const int here = device_count(); here < gpus)
    throw CudaFailure("no " + std::to_string(gpus) + " GPUs to validate on: here are " + std::to_string(here) +
                      "; --split NAME,gpus=N takes fewer");
  std::vector<std::unique_ptr<IslandGpu>> out;
  for (int i = 0; i < gpus; ++i) out.push_back(std::make_unique<IslandGpu>(i));
  return out;
}

}  // namespace

Gpus::Gpus(int gpus) : gpus_(open_gpus(gpus)), ranks_(gpus) {
  for (const auto& gpu : gpus_) {
    marks_.emplace_back(gpu->device());
    marks_.emplace_back(gpu->device());
  }
  marks_.emplace_back(gpus_.front()->device());
}

void Gpus::join() {
  const OwnStream& first = gpus_.front()->work;
  std::size_t at = 0;
  for (const auto& gpu : gpus_) {
    for (const OwnStream* stream : {&gpu->work, &gpu->copies}) {
      marks_[at].record(stream->get());
      first.wait(marks_[at++]);
    }
  }
  marks_.back().record(first.get());
  for (const auto& gpu : gpus_) {
    gpu->work.wait(marks_.back());
    gpu->copies.wait(marks_.back());
  }
}

void Gpus::synchronize() {
  for (const auto& gpu : gpus_) {
    gpu->device().make_current();
    gpu->device().synchronize();
  }
}

double Gpus::seconds_of(const std::function<void()>& run, int runs) {
  gpus_.front()->device().make_current();
  Event start = gpus_.front()->device().event(), stop = gpus_.front()->device().event();
  join();
  start.record(gpus_.front()->work.get());
  for (int i = 0; i < runs; ++i) {
    run();
    join();
  }
  gpus_.front()->device().make_current();
  stop.record(gpus_.front()->work.get());
  return stop.since(start).value / runs;
}

double Gpus::seconds(const std::function<void()>& run, double warm, double long_enough) {
  double one = seconds_of(run, 1);  // the first run compiles
  const auto runs_in = [&](double time) {
    return static_cast<int>(std::clamp(std::ceil(time / std::max(one, shortest)), least_runs, most_runs));
  };
  const Stopwatch warming;
  do {
    one = seconds_of(run, runs_in(0.05));
  } while (warming.seconds() < warm);
  const double all = seconds_of(run, runs_in(long_enough));
  return std::max(all - seconds_of([] {}, joins), 0.0);
}

DeviceMemory random_array(IslandGpu& gpu, std::int64_t elements, DType type, std::uint64_t seed) {
  gpu.device().make_current();
  DeviceMemory out = gpu.device().allocate(static_cast<std::size_t>(elements * bytes_of_16_bits));
  gpu.runtime.prepare(fill_plan(out.address(), elements, type, seed, 1, gpu.device().properties()))();
  gpu.device().synchronize();
  return out;
}

DeviceMemory poisoned_array(const IslandGpu& gpu, std::int64_t elements, int bytes) {
  gpu.device().make_current();
  DeviceMemory out = gpu.device().allocate(static_cast<std::size_t>(elements * bytes));
  gpu.device().set(out, poison_byte);
  gpu.device().synchronize();
  return out;
}

std::vector<std::uint16_t> downloaded(const IslandGpu& gpu, const DeviceMemory& memory) {
  gpu.device().make_current();
  std::vector<std::uint16_t> out(memory.bytes() / sizeof(std::uint16_t));
  gpu.device().download(out.data(), memory.address(), memory.bytes());
  return out;
}

}  // namespace napkin::internal
