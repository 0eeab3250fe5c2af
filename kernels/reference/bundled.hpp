#pragma once
// A BundledKernel lets tests and `napkin validate` run a bundled kernel: its variants, and problems on the device whose
// right answer is known. A new kernel is a file beside this one and its line in bundled.cpp.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/reference/reference.hpp"
#include "kernels/runtime/run.hpp"
#include "model/interpret/run.hpp"
#include "model/mapping/placed.hpp"

namespace napkin::internal {

struct TrialOptions {
  std::int64_t rows = 64;  ///< rows that are compared with float64, spread over the output
  std::uint64_t seed = 1;  ///< seed of the inputs and of the choice of rows
  int threads = 1;         ///< threads that compute the reference on the CPU
};

/// Fresh random inputs and poisoned outputs of one question, for any tile of one kernel.
class KernelTrial {
 public:
  KernelTrial() = default;
  virtual ~KernelTrial() = default;
  KernelTrial(const KernelTrial&) = delete;
  KernelTrial& operator=(const KernelTrial&) = delete;

  /// Makes the plan of a tile; `counting` gives the variant that writes its cycles to spans().
  [[nodiscard]] virtual LaunchPlan plan(const PlacedDiagram& placed, bool counting) const = 0;
  [[nodiscard]] virtual const DeviceMemory& spans() const = 0;

  /// Sets every output element to a NaN that no kernel writes.
  virtual void poison() const = 0;
  enum class Extent {
    rows,        ///< the sampled rows alone: a few milliseconds
    everything,  ///< the sampled rows, and a search of all elements and gaps for poison that a kernel left or overwrote
  };
  /// Compares the current outputs with the reference.
  [[nodiscard]] virtual Comparison check(Extent extent) const = 0;
};

/// The options of a debug variant's run, with the meaning of RunOptions for run_streamed().
struct DumpOptions {
  std::vector<std::string> observed;  ///< names; empty: all
  Observer observer;
};
constexpr std::uint32_t dump_poison = 0xFFFFFFFF;  ///< A NaN that no kernel makes, which marks words that were not
                                                   ///< written.

struct BundledKernel {
  std::string mapping;  ///< name of the mapping that describes it
  /// Plans the variant of a placed tile without arrays, which is enough to compile it; of several launches the one that
  /// runs the tile.
  LaunchPlan (*variant)(const PlacedDiagram& placed, bool counting, const LaunchDevice& device) = nullptr;
  /// Prepares a trial for any tile of the question of `placed`; nullptr if the kernel consists of several launches.
  /// Throws CudaFailure.
  std::unique_ptr<KernelTrial> (*trial)(Runtime& runtime, const PlacedDiagram& placed,
                                        const TrialOptions& options) = nullptr;
  /// Runs the debug variant once on these inputs and shows its intermediates as run_streamed() would, without chunks
  /// that the kernel did not visit. nullptr if there is no such variant. Throws Error for too many intermediates,
  /// CudaFailure.
  void (*dump)(Runtime& runtime, const PlacedDiagram& placed, const Tensors& inputs,
               const DumpOptions& options) = nullptr;
};

/// Finds a kernel by its mapping; nullptr if none can be launched.
[[nodiscard]] const BundledKernel* find_bundled(std::string_view mapping);
[[nodiscard]] std::vector<std::string> bundled_names();

// One function a kernel, each in its own file.

[[nodiscard]] BundledKernel attention_sm90_bundled();
[[nodiscard]] BundledKernel attention_wide_sm90_bundled();
[[nodiscard]] BundledKernel attention_sm80_bundled();
[[nodiscard]] BundledKernel attention_backward_sm90_bundled();
[[nodiscard]] BundledKernel attention_backward_wide_sm90_bundled();
[[nodiscard]] BundledKernel attention_decode_sm90_bundled();
[[nodiscard]] BundledKernel attention_fp8_sm90_bundled();
[[nodiscard]] BundledKernel napkin_fp8_sm90_bundled();
[[nodiscard]] BundledKernel matmul_sm90_bundled();
[[nodiscard]] BundledKernel matmul_fp8_sm90_bundled();

}  // namespace napkin::internal
