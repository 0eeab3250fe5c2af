#pragma once
// compiled_of compiles a kernel with one tile and returns what the compiler reports: 240 registers a thread, no spills.
// Internal to apps/.

#include "apps/library/rank/evaluate.hpp"

namespace napkin::internal {

/// Compiles through the disk cache. Throws CudaFailure if NVRTC is missing, if the kernel does not take the tile, and
/// if it does not compile; the answer has spills and serialised instructions.
[[nodiscard]] CompiledAnswer compiled_of(const Placement& placement);

}  // namespace napkin::internal
