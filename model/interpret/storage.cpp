#include "model/interpret/storage.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace napkin::internal {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

bool exact(DType type) { return type == DType::f64 || type == DType::value; }

bool is_integer(DType type) { return type == DType::i32 || type == DType::i8 || type == DType::i4; }

double beyond(const FloatFormat& f, double value, Saturation saturation) {
  if (saturation == Saturation::finite || !f.not_a_number) return std::copysign(f.largest, value);
  return f.infinity ? std::copysign(infinite, value) : std::numeric_limits<double>::quiet_NaN();
}

/// Returns the exponent of the last place of a number of this magnitude.
int last_place(const FloatFormat& f, double value) { return std::max(std::ilogb(value), 1 - f.bias) - f.mantissa_bits; }

}  // namespace

FloatFormat format_of(DType type) {
  switch (type) {
    case DType::f64:
    case DType::value: return {11, 52, 1023, std::numeric_limits<double>::max(), true, true};
    case DType::f32: return {8, 23, 127, 0x1.fffffep127, true, true};
    case DType::tf32: return {8, 10, 127, 0x1.ffcp127, true, true};
    case DType::f16: return {5, 10, 15, 65504, true, true};
    case DType::bf16: return {8, 7, 127, 0x1.fep127, true, true};
    case DType::e4m3: return {4, 3, 7, 448, false, true};
    case DType::e5m2: return {5, 2, 15, 57344, true, true};
    case DType::e2m1: return {2, 1, 1, 6, false, false};
    case DType::i32:
    case DType::i8:
    case DType::i4: break;
  }
  throw Error("the interpreter", "does not compute in " + std::string(name_of(type)), "a floating-point type");
}

Saturation default_saturation(DType type) { return bits(type) <= 8 ? Saturation::finite : Saturation::none; }

double round_to(DType type, double value, Saturation saturation) {
  if (exact(type)) return value;
  if (is_integer(type)) {
    const double beyond_last = std::ldexp(1.0, bits(type) - 1);
    return std::clamp(std::nearbyint(value), -beyond_last, beyond_last - 1);
  }
  const FloatFormat f = format_of(type);
  if (value == 0 || std::isnan(value)) return value;
  if (std::isinf(value)) return beyond(f, value, saturation);
  const int place = last_place(f, value);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -place)), place);
  return std::abs(rounded) > f.largest ? beyond(f, value, saturation) : rounded;
}

double round_to(DType type, double value) { return round_to(type, value, default_saturation(type)); }

std::uint32_t encode(DType type, double value) {
  const FloatFormat f = format_of(type);
  const double rounded = round_to(type, value);
  const std::uint32_t sign =
      std::signbit(rounded) ? 1U << static_cast<unsigned>(f.exponent_bits + f.mantissa_bits) : 0U;
  const auto mantissa = static_cast<unsigned>(f.mantissa_bits);
  const std::uint32_t top = (1U << static_cast<unsigned>(f.exponent_bits)) - 1U;
  if (std::isnan(rounded)) {  // e4m3: all ones; others: the quiet NaN
    return sign | (top << mantissa) | (f.infinity ? 1U << (mantissa - 1U) : (1U << mantissa) - 1U);
  }
  if (std::isinf(rounded)) return sign | (top << mantissa);
  if (rounded == 0) return sign;
  const int place = last_place(f, rounded);
  const auto digits = static_cast<std::uint32_t>(std::ldexp(std::abs(rounded), -place));
  const int exponent = place + f.mantissa_bits + f.bias;  // 1 for subnormals, which lack the leading one
  if (digits < (1U << mantissa)) return sign | digits;
  return sign | (static_cast<std::uint32_t>(exponent) << mantissa) | (digits - (1U << mantissa));
}

double decode(DType type, std::uint32_t pattern) {
  const FloatFormat f = format_of(type);
  const auto mantissa = static_cast<unsigned>(f.mantissa_bits);
  const std::uint32_t top = (1U << static_cast<unsigned>(f.exponent_bits)) - 1U;
  const std::uint32_t exponent = (pattern >> mantissa) & top;
  const std::uint32_t digits = pattern & ((1U << mantissa) - 1U);
  const double sign = (pattern >> static_cast<unsigned>(f.exponent_bits + f.mantissa_bits)) & 1U ? -1.0 : 1.0;
  if (f.infinity && exponent == top) {
    return digits == 0 ? sign * infinite : std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);
  }
  if (f.not_a_number && !f.infinity && exponent == top && digits == (1U << mantissa) - 1U) {
    return std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);
  }
  const std::uint32_t whole = exponent == 0 ? digits : digits + (1U << mantissa);
  const int place = static_cast<int>(std::max(exponent, 1U)) - f.bias - f.mantissa_bits;
  return sign * std::ldexp(static_cast<double>(whole), place);
}

}  // namespace napkin::internal
