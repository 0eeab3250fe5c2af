#pragma once
// reference_rows computes some rows of a matrix product on the CPU in float64, with which the kernels' results are
// compared.

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/reference/reference.hpp"

namespace napkin::internal {

struct MatmulSizes {
  std::int64_t a = 1, b = 1, c = 1;
};

/// Returns the type of C, for A and B of `type`.
[[nodiscard]] constexpr DType result_type(DType type) { return type == DType::e4m3 ? DType::bf16 : type; }

/// Numbers of 16 bits or 8 on the host, rows of `row` elements.
struct HostMatrix {
  std::vector<std::uint16_t> values;
  std::int64_t row = 0;
  [[nodiscard]] std::size_t at(std::int64_t r, std::int64_t column) const {
    return static_cast<std::size_t>(r * row + column);
  }
};

/// The factors of a product.
struct HostMatmul {
  MatmulSizes sizes;
  DType type = DType::bf16;
  HostMatrix a, b;   ///< factors; for e4m3 b has c rows
  double scale = 1;  ///< scale of the product
};

/// Computes rows of A B, each of sizes.c columns, with that many threads.
[[nodiscard]] std::vector<std::vector<double>> reference_rows(const HostMatmul& m,
                                                              const std::vector<std::int64_t>& rows, int threads = 1);

/// Compares a row of C with the reference. reference_error is that of the exact product rounded to the type.
void compare_row(std::span<const std::uint16_t> row, const std::vector<double>& reference, DType type,
                 Comparison& into);

/// Counts elements of C that still hold the poison, and elements after its rows, of `columns` elements, that do not.
void count_poison(const HostMatrix& c, std::int64_t columns, Comparison& into);

/// Returns about `most` of `all` rows, evenly spread, from a start that depends on the seed; all rows if there are no
/// more.
[[nodiscard]] std::vector<std::int64_t> spread_rows(std::int64_t all, std::int64_t most, std::uint64_t seed);

}  // namespace napkin::internal
