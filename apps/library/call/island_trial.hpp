#pragma once
// An IslandTrial runs a division of work on the GPUs here, such as ring attention over two: the copies and the bundled
// kernels' launches in the order in which --emit nccl prints them. Internal to apps/.

#include <memory>

#include "apps/library/call/island_gpus.hpp"
#include "kernels/reference/reference.hpp"
#include "model/island/division.hpp"

namespace napkin::internal {

/// The half of a run: copies alone, or launches that wait for no copy.
enum class IslandHalf { both, copies, work };

class IslandTrial {
 public:
  IslandTrial() = default;
  virtual ~IslandTrial() = default;
  IslandTrial(const IslandTrial&) = delete;
  IslandTrial& operator=(const IslandTrial&) = delete;

  /// Puts a run, or a half of it, into the GPUs' streams.
  virtual void run(IslandHalf half) = 0;
  /// Compares `rows` rows of the last whole run's result with float64.
  [[nodiscard]] virtual Comparison check(std::int64_t rows) const = 0;
};

/// Allocates and fills what the division needs, fresh random inputs and poisoned outputs. Throws Error for what no
/// bundled kernel computes, CudaFailure if memory or a GPU fails.
[[nodiscard]] std::unique_ptr<IslandTrial> island_trial(Gpus& gpus, const Division& division, std::uint64_t seed);

// Make a trial of a split: of attention by a ring or by heads, of a product.

[[nodiscard]] std::unique_ptr<IslandTrial> ring_trial(Gpus& gpus, const Division& division, std::uint64_t seed);
[[nodiscard]] std::unique_ptr<IslandTrial> heads_trial(Gpus& gpus, const Division& division, std::uint64_t seed);
[[nodiscard]] std::unique_ptr<IslandTrial> product_trial(Gpus& gpus, const Division& division, std::uint64_t seed);

}  // namespace napkin::internal
