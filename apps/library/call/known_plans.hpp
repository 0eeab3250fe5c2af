#pragma once
// KnownPlans keeps the launch plans of earlier calls, in this process or another: attention() with sizes and strides
// that it has met before selects nothing and reads no YAML file. The plans lie on disk beside the compiled kernels.
// Internal to apps/.

#include <filesystem>
#include <optional>
#include <string>

#include "apps/library/call/call_plans.hpp"
#include "apps/library/question/latest.hpp"
#include "kernels/jit/disk_cache.hpp"
#include "kernels/runtime/device.hpp"

namespace napkin {

/// All that a call's plan depends on but the memory, as bytes: a digest of this program's sources and YAML files, the
/// GPU, sizes, type, mask, strides, scale, and which optional arrays there are.
[[nodiscard]] std::string plan_key(const AttentionArgs& args, const DeviceProperties& gpu, const LaunchDevice& device);
[[nodiscard]] std::string plan_key(const AttentionBackwardArgs& args, const DeviceProperties& gpu,
                                   const LaunchDevice& device);
[[nodiscard]] std::string plan_key(const MatmulArgs& args, const DeviceProperties& gpu, const LaunchDevice& device);

/// Bound to the memory of whichever call made them: bind() gives them another one's.
class KnownPlans {
 public:
  /// An empty path: in this process alone. This process keeps so many of the plans that it has met, the latest used.
  explicit KnownPlans(std::filesystem::path directory, std::size_t most_met = 1024)
      : entries_(std::move(directory), "plan", 2), met_(most_met) {}

  [[nodiscard]] std::optional<Launches> find(const std::string& key);
  void store(const std::string& key, const Launches& launches);
  [[nodiscard]] std::filesystem::path file_of(const std::string& key) const;

 private:
  DiskCache entries_;
  Latest<std::string, Launches> met_;  ///< by the bytes themselves: a digest of them takes longer than all else
};

}  // namespace napkin
