#pragma once
// compiled_of asks the CUDA compiler what a kernel takes with one tile: 240 registers a thread, no spills. Internal to
// apps/.

#include "apps/library/rank/evaluate.hpp"

namespace napkin {

/// Compiles through the disk cache. Throws CudaFailure where there is no NVRTC, where the kernel does not take the
/// tile, and where it does not compile; spills and serialised instructions are in the answer.
[[nodiscard]] CompiledAnswer compiled_of(const Placement& placement);

}  // namespace napkin
