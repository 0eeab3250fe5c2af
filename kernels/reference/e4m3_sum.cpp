#include "kernels/reference/e4m3_sum.hpp"

#include <array>

namespace napkin::internal {
namespace {

struct E4m3Number {
  float value = 0;
  std::int16_t exponent = detail::e4m3_zero;
};

std::array<E4m3Number, 256> make_numbers() {
  std::array<E4m3Number, 256> out{};
  for (int i = 0; i < 256; ++i) {
    constexpr int significand_bits = 3, bias = 7;  // bits of the significand without the leading one
    const int field = i >> significand_bits & 15, fraction = i & 7, significand = field == 0 ? fraction : fraction + 8;
    if (significand == 0) continue;
    const int exponent = std::max(field, 1) - bias;
    const float magnitude = std::ldexp(static_cast<float>(significand), exponent - significand_bits);
    out[static_cast<std::size_t>(i)] = {i < 128 ? magnitude : -magnitude, static_cast<std::int16_t>(exponent)};
  }
  return out;
}

}  // namespace

E4m3Terms::E4m3Terms(const std::uint8_t* bits) {
  static const std::array<E4m3Number, 256> numbers = make_numbers();
  for (int i = 0; i < e4m3_sum_terms; ++i) {
    values[i] = numbers[bits[i]].value;
    exponents[i] = numbers[bits[i]].exponent;
    has_nan |= (bits[i] & 127) == 127;
  }
}

}  // namespace napkin::internal
