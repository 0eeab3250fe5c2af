#pragma once
// e4m3_sum adds e4m3 products as Hopper's tensor cores do: 1 + 2^-13 is kept, 1 + 2^-14 is 1. One wgmma adds 32
// products to an accumulator: all are aligned to the largest exponent among them, cut 13 bits below it, toward zero,
// and the sum is cut there again. It equals 24,576 sums measured on a card bit by bit (tests/measured/fp8_sums).

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace napkin::internal {

constexpr int e4m3_sum_terms = 32;

/// 32 e4m3 numbers, decoded once, as a row of a product meets every column.
struct E4m3Terms {
  float values[e4m3_sum_terms];
  std::int16_t exponents[e4m3_sum_terms];  ///< exponents; a subnormal number has that of the least normal one
  bool has_nan = false;

  E4m3Terms() = default;
  explicit E4m3Terms(const std::uint8_t* bits);
};

namespace detail {

constexpr int e4m3_kept_bits = 13;           // bits kept below the largest exponent
constexpr std::int16_t e4m3_zero = -1000;    // the exponent of 0
constexpr int e4m3_least_exponent = 2 * -6;  // least exponent of a product that is not 0

/// Returns 2^exponent, a normal double, by which sums are scaled without rounding.
inline double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// Returns floor(log2 |x|) of a normal number, e4m3_zero for 0. Every sum is normal or 0, as its last bit is at least
/// 2^-31.
inline int exponent_of(float x) {
  return x == 0 ? e4m3_zero : static_cast<int>(std::bit_cast<std::uint32_t>(x) >> 23 & 255u) - 127;
}

}  // namespace detail

/// Adds the products of 32 e4m3 numbers, a and b, to `sum`. Inline, with loops that a compiler can vectorise, since the
/// emulator's products consist of it.
inline float e4m3_sum(float sum, const E4m3Terms& a, const E4m3Terms& b) {
  using namespace detail;
  if (!std::isfinite(sum)) return sum;
  if (a.has_nan || b.has_nan) return std::numeric_limits<float>::quiet_NaN();
  // The exponents of the factors are added: that of 1.5 x 1.5 is 0, though their product is 2.25.
  std::int16_t of_products = 2 * e4m3_zero;
  for (int i = 0; i < e4m3_sum_terms; ++i)
    of_products = std::max(of_products, static_cast<std::int16_t>(a.exponents[i] + b.exponents[i]));
  const int largest = std::max<int>(of_products, exponent_of(sum));
  if (largest < e4m3_zero / 2) return 0;
  auto units = static_cast<int>(static_cast<double>(sum) * power_of_two(e4m3_kept_bits - largest));  // 2^(largest - 13)
  if (of_products >= e4m3_least_exponent) {
    const auto scale = static_cast<float>(power_of_two(e4m3_kept_bits - largest));
    // A product has 8 bits, so that each is exact until it is cut.
    for (int i = 0; i < e4m3_sum_terms; ++i) units += static_cast<int>(a.values[i] * b.values[i] * scale);
  }
  // |units| is below 2^20. It is cut to 14 bits, toward zero.
  const int magnitude = std::abs(units),
            over = std::max(0, static_cast<int>(std::bit_width(static_cast<unsigned>(magnitude))) - 1 - e4m3_kept_bits),
            kept = units < 0 ? -(magnitude >> over) : magnitude >> over;
  return static_cast<float>(kept * power_of_two(over + largest - e4m3_kept_bits));
}

[[nodiscard]] inline float e4m3_sum(float sum, const std::uint8_t* a, const std::uint8_t* b) {
  return e4m3_sum(sum, E4m3Terms(a), E4m3Terms(b));
}

}  // namespace napkin::internal
