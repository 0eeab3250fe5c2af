#include "kernels/launch/e4m3_sum.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace napkin {
namespace {

constexpr int kept_bits = 13;        // behind the largest exponent
constexpr int nothing = -1000;       // the exponent of 0
constexpr int significand_bits = 3;  // of e4m3, without the first

/// A number of e4m3 is `significand` 2^(exponent - 3).
struct Parts {
  int significand = 0;
  int exponent = nothing;
};

constexpr std::array<Parts, 256> make_parts() {
  std::array<Parts, 256> out{};
  for (int i = 0; i < 256; ++i) {
    const int exponent = i >> significand_bits & 15, fraction = i & 7;
    const int significand = exponent == 0 ? fraction : fraction + 8;
    if (significand == 0) continue;
    out[static_cast<std::size_t>(i)] = {i < 128 ? significand : -significand, std::max(exponent, 1) - 7};
  }
  return out;
}

constexpr std::array<Parts, 256> parts = make_parts();

constexpr bool is_nan(std::uint8_t bits) { return (bits & 127) == 127; }

/// floor(log2 |x|) of 0 and of normal numbers: a sum's last bit is at least 2^-31.
int exponent_of(float x) {
  return x == 0 ? nothing : static_cast<int>(std::bit_cast<std::uint32_t>(x) >> 23 & 255u) - 127;
}

}  // namespace

float e4m3_sum(float sum, const std::uint8_t* a, const std::uint8_t* b) {
  if (!std::isfinite(sum)) return sum;
  int largest = exponent_of(sum);
  // The exponents of the factors are added: that of 1.5 x 1.5 is 0, though their product is 2.25.
  for (int i = 0; i < e4m3_sum_terms; ++i) {
    if (is_nan(a[i]) || is_nan(b[i])) return std::numeric_limits<float>::quiet_NaN();
    largest = std::max(largest, parts[a[i]].exponent + parts[b[i]].exponent);
  }
  if (largest < nothing / 2) return 0;
  auto units = static_cast<std::int64_t>(std::ldexp(sum, kept_bits - largest));  // of 2^(largest - 13)
  for (int i = 0; i < e4m3_sum_terms; ++i) {
    const Parts &x = parts[a[i]], &y = parts[b[i]];
    const int below = largest - x.exponent - y.exponent;
    if (below > nothing / -2) continue;
    const int product = (x.significand * y.significand) * (1 << (kept_bits - 2 * significand_bits));
    units += product / (1 << std::min(below, 30));
  }
  const auto whole = static_cast<float>(units);  // at most 2^20: exact
  const int over = std::max(0, exponent_of(whole) - kept_bits);
  return std::ldexp(std::trunc(std::ldexp(whole, -over)), over + largest - kept_bits);
}

}  // namespace napkin
