#pragma once
// Gpus are the first GPUs of this machine, opened to run an island's launches: each has a stream for work and one for
// copies, and a rank of NCCL, and one thread drives all. Internal to apps/.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/runtime/nccl.hpp"
#include "kernels/runtime/run.hpp"
#include "kernels/runtime/stream.hpp"

namespace napkin::internal {

struct IslandGpu {
  explicit IslandGpu(int ordinal)
      : runtime(Device(ordinal), process_environment()),
        work(runtime.device()),
        copies(runtime.device(), OwnStream::Turn::first) {}

  [[nodiscard]] const Device& device() const { return runtime.device(); }

  Runtime runtime;
  OwnStream work,
      copies;  ///< stream of higher priority: a copy's blocks must not wait for a kernel's, since the other GPU's copy
               ///< waits for them and holds SMs
};

class Gpus {
 public:
  /// Opens that many GPUs. Throws CudaFailure if there are fewer, or no NCCL.
  explicit Gpus(int gpus);

  [[nodiscard]] int count() const { return static_cast<int>(gpus_.size()); }
  [[nodiscard]] IslandGpu& at(int rank) { return *gpus_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const Ranks& ranks() const { return ranks_; }

  /// Makes later work on any stream wait for all earlier work on every stream.
  void join();
  /// Waits for all GPUs.
  void synchronize();
  /// Calls run() for about `warm` seconds, then for about `long_enough`. Returns the seconds of a call in the latter
  /// time, without those of join().
  [[nodiscard]] double seconds(const std::function<void()>& run, double warm, double long_enough);

 private:
  [[nodiscard]] double seconds_of(const std::function<void()>& run, int runs);

  std::vector<std::unique_ptr<IslandGpu>> gpus_;
  Ranks ranks_;
  std::vector<Mark> marks_;  // marks of each stream of each GPU, then of all together
};

/// Returns memory filled with N(0, 1) in bf16 or f16.
[[nodiscard]] DeviceMemory random_array(IslandGpu& gpu, std::int64_t elements, DType type, std::uint64_t seed);
/// Returns memory in which every element is a NaN that no kernel writes.
[[nodiscard]] DeviceMemory poisoned_array(const IslandGpu& gpu, std::int64_t elements, int bytes);
/// Returns the 16-bit elements.
[[nodiscard]] std::vector<std::uint16_t> downloaded(const IslandGpu& gpu, const DeviceMemory& memory);

}  // namespace napkin::internal
