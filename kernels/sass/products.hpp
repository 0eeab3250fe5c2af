#pragma once
// product_shape reads the size of the product from a tensor instruction's name: "HGMMA.64x128x16.F32.BF16" 64 x 128 x
// 16 by a warpgroup, "HMMA.16816.F32" 16 x 8 x 16 by a warp.

#include <optional>
#include <string>

#include "kernels/sass/sass.hpp"

namespace napkin::internal {

struct ProductShape {
  int m = 0, n = 0, k = 0;
  int warps = 1;           ///< warps that issue it together
  std::string type;        ///< "bf16"; "" where the instruction does not say
  std::string accumulate;  ///< "f32"
  bool asynchronous = false;
  /// Returns the FLOP of a warp.
  [[nodiscard]] double flops() const { return 2.0 * m * n * k / warps; }
  bool operator==(const ProductShape&) const = default;
};

/// Returns the shape; nothing for other instructions, and for those whose text does not give a shape.
[[nodiscard]] std::optional<ProductShape> product_shape(const SassInstruction& one);

/// Returns the accumulator that a product begins with: a register, or -1 for zero.
[[nodiscard]] int accumulator_of(const SassInstruction& product);

}  // namespace napkin::internal
