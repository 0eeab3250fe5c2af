#pragma once
// round_to rounds a number to a type: 1.001 is 1 in bf16.

#include <cstdint>

#include "model/base/dtype.hpp"

namespace napkin::internal {

/// A binary floating-point format. Source: IEEE 754 for f16, f32; bf16 and tf32 are f32 with a shorter mantissa; e4m3
/// and e5m2 as in the OCP 8-bit floating point specification 1.0, e2m1 as in its microscaling formats 1.0.
struct FloatFormat {
  int exponent_bits = 0;
  int mantissa_bits = 0;  ///< stored bits of the mantissa
  int bias = 0;
  double largest = 0;        ///< largest finite number
  bool infinity = true;      ///< false for e4m3 and e2m1
  bool not_a_number = true;  ///< false for e2m1
};

/// Returns the format of a type. Throws Error for the integer types, in which this interpreter does not compute.
[[nodiscard]] FloatFormat format_of(DType type);

/// The result of a conversion beyond the largest finite number.
enum class Saturation {
  none,    ///< infinity; NaN if the format has none; the largest number if it has neither
  finite,  ///< the largest number, for infinities as well
};
/// Returns the hardware's behaviour: 8-bit and smaller types saturate, others do not.
[[nodiscard]] Saturation default_saturation(DType type);

/// Rounds to the nearest number of that type, ties to even; keeps subnormals, signed zeros and NaNs. `f64` and `value`
/// change nothing; integer types have their integers.
[[nodiscard]] double round_to(DType type, double value, Saturation saturation);
[[nodiscard]] double round_to(DType type, double value);

/// Returns the bits of round_to(type, value); decode() inverts it. For f16, bf16, tf32 (in 19 bits), e4m3, e5m2, e2m1,
/// f32.
[[nodiscard]] std::uint32_t encode(DType type, double value);
[[nodiscard]] double decode(DType type, std::uint32_t pattern);

}  // namespace napkin::internal
