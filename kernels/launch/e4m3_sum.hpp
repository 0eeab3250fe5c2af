#pragma once
// What Hopper's tensor cores make of a sum of e4m3 products: 1 + 2^-13 is kept, 1 + 2^-14 is 1. One wgmma adds 32
// products to an accumulator: all are aligned to the largest exponent among them, cut 13 bits behind it, toward zero,
// and the sum is cut there again. Every bit of 24,576 sums that a card made is this function's
// (tests/measured/fp8_sums).

#include <cstdint>

namespace napkin {

constexpr int e4m3_sum_terms = 32;

/// `sum` plus the products of 32 numbers of e4m3, a and b.
[[nodiscard]] float e4m3_sum(float sum, const std::uint8_t* a, const std::uint8_t* b);

}  // namespace napkin
