#pragma once
// KnownPlans keeps the launch plans of earlier calls, in this process or another: attention() with sizes and strides of
// an earlier call selects no tile and reads no YAML file. The plans lie on disk beside the compiled kernels. Internal
// to apps/.

#include <filesystem>
#include <optional>
#include <string>

#include "apps/library/call/call_plans.hpp"
#include "kernels/jit/disk_cache.hpp"
#include "kernels/runtime/device.hpp"
#include "model/base/latest.hpp"

namespace napkin::internal {

/// Returns a key of everything that a call's plan depends on except memory: a digest of this program's sources and YAML
/// files, the GPU, sizes, type, mask, strides, scale, lengths, pages, and which optional arrays are given.
[[nodiscard]] std::string plan_key(const AttentionArgs& args, const DeviceProperties& gpu, const LaunchDevice& device);
[[nodiscard]] std::string plan_key(const AttentionBackwardArgs& args, const DeviceProperties& gpu,
                                   const LaunchDevice& device);
[[nodiscard]] std::string plan_key(const MatmulArgs& args, const DeviceProperties& gpu, const LaunchDevice& device);

/// Returns a key of everything that a call's selection depends on: sizes (the number of keys as ranked_for() rounds it,
/// or the call's own), type, mask, lengths and needs.
[[nodiscard]] std::string selection_key(const AttentionArgs& args, bool ranked);
[[nodiscard]] std::string selection_key(const AttentionBackwardArgs& args, bool ranked);
[[nodiscard]] std::string selection_key(const MatmulArgs& args, bool ranked);

/// Returns a key that calls share which may be launched with one tile: selection_key() without batches and keys, and
/// with queries (a product's rows and columns) rounded down to a power of two. "" for a call with lengths, whose
/// selection depends on them, and for the backward pass, whose workspace depends on the tile.
[[nodiscard]] std::string kind_key(AttentionArgs args);
[[nodiscard]] inline std::string kind_key(const AttentionBackwardArgs&) { return ""; }
[[nodiscard]] std::string kind_key(MatmulArgs args);

/// A cache of launch plans in memory and on disk. A plan is bound to the memory of the call that made it; give_memory()
/// binds it to another's.
class KnownPlans {
 public:
  /// Opens the plans of a directory; an empty path keeps them in this process alone. Keeps the `most_met` latest used
  /// in memory too.
  explicit KnownPlans(std::filesystem::path directory, std::size_t most_met = 1024)
      : entries_(std::move(directory), "plan", 2), met_(most_met) {}

  /// Finds a plan in memory.
  [[nodiscard]] std::optional<Launches> met(const std::string& key);
  /// Finds a plan in memory or on disk.
  [[nodiscard]] std::optional<Launches> find(const std::string& key);
  /// Keeps a plan in memory.
  void meet(const std::string& key, const Launches& launches) { met_.put(key, launches); }
  /// Keeps a plan in memory and on disk.
  void store(const std::string& key, const Launches& launches);
  [[nodiscard]] std::filesystem::path file_of(const std::string& key) const;

 private:
  DiskCache entries_;
  Latest<std::string, Launches> met_;  ///< keyed by the bytes themselves, since hashing them takes longer than all else
};

}  // namespace napkin::internal
