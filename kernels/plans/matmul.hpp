#pragma once
// A MatmulCall is one matrix product on the device, C[a, c] = A[a, b] B[b, c]; for e4m3 B is stored as [c, b], and C is
// bf16.

#include <cstdint>

#include "kernels/runtime/launch_plan.hpp"
#include "model/mapping/placed.hpp"

namespace napkin::internal {

/// Rows in device memory; a row is dense.
struct MatrixView {
  std::uint64_t address = 0;
  std::int64_t row = 0;  ///< stride in elements, a multiple of 8 (for e4m3 of 16)
};

struct MatmulCall {
  MatrixView a, b, c;
  /// Address of u64 [SMs, 2] for first starts and last ends, initialised to all ones and 0; 0: not wanted.
  std::uint64_t cycles = 0;
  std::uint64_t arrived = 0, sums = 0;  ///< addresses of matmul_scratch()'s memory, for one launch at a time; 0: none
  std::uint64_t a_scale = 0, b_scale = 0;  ///< scales of A and B for e4m3: addresses of f32; 0: 1
};

/// Returns the scratch memory of a placement with parts (split-K): counters of tiles, and the parts in f32.
[[nodiscard]] LaunchScratch matmul_scratch(const PlacedDiagram& placed);

/// Plans matmul_sm90 or matmul_fp8_sm90, by the placement's mapping. Throws Error for a tile or a matrix that it does
/// not take: rows start at multiples of 16 bytes, and b is a multiple of 16 bytes. Throws Overflow for sizes beyond its
/// integers.
[[nodiscard]] LaunchPlan matmul_plan(const PlacedDiagram& placed, const MatmulCall& call, const LaunchDevice& device);

/// Binds a plan to the memory of another call with equal sizes and strides. Throws Error as above.
void bind(LaunchPlan& plan, const MatmulCall& call);

}  // namespace napkin::internal
