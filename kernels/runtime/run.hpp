#pragma once
// A Runtime turns plans into launches: it compiles through the cache, loads each variant once, encodes tensor maps.
// Each program makes its own Runtime; there is no global one.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kernels/jit/cache.hpp"
#include "kernels/runtime/device.hpp"
#include "kernels/runtime/environment.hpp"
#include "kernels/runtime/launch_plan.hpp"

namespace napkin::internal {

/// The treatment of a kernel that spills or whose wgmma the compiler serialised.
enum class Objections { refuse, report };

/// A variant, compiled and loaded.
struct LoadedKernel {
  CompiledKernel compiled;  ///< compiled kernel, its machine code dropped after loading
  std::unique_ptr<DeviceKernel> device;
  bool cached = false;  ///< true if it came from the disk cache
};

/// A launch that is prepared as far as possible: a few microseconds each.
class ReadyLaunch {
 public:
  void operator()(Stream stream = nullptr) const;
  [[nodiscard]] const LoadedKernel& kernel() const { return *kernel_; }
  [[nodiscard]] const LaunchPlan& plan() const { return plan_; }

 private:
  friend class Runtime;
  ReadyLaunch(const Device& device, LaunchPlan plan, const LoadedKernel& kernel)
      : device_(device), plan_(std::move(plan)), kernel_(&kernel) {}

  Device device_;
  LaunchPlan plan_;  // plan with its tensor maps encoded
  const LoadedKernel* kernel_;
};

/// Compiles without a GPU. Throws CudaFailure if NVRTC is missing, if the kernel does not compile, and
/// CompilerObjection if the compiler objects and `objections` is refuse.
[[nodiscard]] Compilation compile(const LaunchPlan& plan, const Environment& environment,
                                  Objections objections = Objections::refuse);

/// Returns true if the package or the cache has the kernel, and the compiler did not object to it.
[[nodiscard]] bool is_compiled(const LaunchPlan& plan, const Environment& environment);

class Runtime {
 public:
  Runtime(Device device, Environment environment, Objections objections = Objections::refuse)
      : device_(std::move(device)), environment_(std::move(environment)), objections_(objections) {}

  [[nodiscard]] const Device& device() const { return device_; }
  /// Returns true if kernel() finds the kernel without compiling.
  [[nodiscard]] bool is_compiled(const LaunchPlan& plan) const;
  /// Compiles and loads the kernel at its first use, and keeps it. Thread-safe.
  [[nodiscard]] const LoadedKernel& kernel(const LaunchPlan& plan);
  /// Prepares a launch, which keeps a pointer into this object.
  [[nodiscard]] ReadyLaunch prepare(LaunchPlan plan);
  /// Returns warnings, each once: a cache that cannot be written.
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  Device device_;
  Environment environment_;
  Objections objections_;
  mutable std::mutex mutex_;
  std::map<std::string, LoadedKernel> kernels_;  ///< kernel by name expression
  std::vector<std::string> warnings_;
};

}  // namespace napkin::internal
