#pragma once
// dump_attention runs the debug variant of an attention kernel and returns every intermediate of every tile and chunk,
// such as S of tile 3, in the form in which run_streamed() returns it.

#include <span>
#include <string>
#include <utility>

#include "kernels/attention/common/dump.cuh"
#include "kernels/reference/attention_trial.hpp"
#include "model/interpret/run.hpp"

namespace napkin::internal {

/// Lays out the dump of a placed tile's debug variant. Throws Overflow.
[[nodiscard]] DumpLayout attention_dump_layout(const PlacedDiagram& placed);
/// Returns the bytes of all tiles' dumps.
[[nodiscard]] Bytes attention_dump_bytes(const PlacedDiagram& placed);

/// Shows a tile's part (DumpLayout::tile_size() numbers) under the names, groups and chunks of run_streamed(), clipped
/// to the arrays; leaves out chunks of poison, which were not visited. Throws CudaFailure if the tile was never
/// written.
void show_attention_tile(const PlacedDiagram& placed, int tile, std::span<const float> numbers,
                         const DumpOptions& options);

/// Runs the debug variant once on these inputs. Throws Error for too many intermediates, CudaFailure.
void dump_attention(Runtime& runtime, const PlacedDiagram& placed, const Tensors& inputs, const DumpOptions& options);

/// Makes the bundled kernel of an attention kernel with that planner.
template <AttentionPlanner Planner>
[[nodiscard]] BundledKernel attention_bundled(std::string mapping) {
  const auto variant = [](const PlacedDiagram& placed, bool counting, const LaunchDevice& device) {
    return Planner(placed, call_without_arrays(placed, counting), device);
  };
  const auto trial = [](Runtime& runtime, const PlacedDiagram& placed, const TrialOptions& options) {
    return attention_trial(runtime, placed, options, Planner);
  };
  return {std::move(mapping), variant, trial, dump_attention};
}

}  // namespace napkin::internal
