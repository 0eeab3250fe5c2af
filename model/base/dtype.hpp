#pragma once
// A DType is an element type: bf16 has 16 bits, e4m3 eight.

#include <string>
#include <string_view>
#include <vector>

#include "model/base/quantity.hpp"

namespace napkin {

/// Types of elements. `value` is the element of the abstract two-level machine: a number takes one unit of memory.
enum class DType { f64, f32, tf32, f16, bf16, e4m3, e5m2, i32, i8, i4, e2m1, value };

/// Returns the storage bits of an element: 32 for tf32, 8 for `value`, so that a byte is a value.
[[nodiscard]] constexpr int bits(DType t) {
  switch (t) {
    case DType::f64: return 64;
    case DType::f32:
    case DType::tf32:
    case DType::i32: return 32;
    case DType::f16:
    case DType::bf16: return 16;
    case DType::e4m3:
    case DType::e5m2:
    case DType::i8:
    case DType::value: return 8;
    case DType::i4:
    case DType::e2m1: return 4;
  }
  return 0;
}

/// Returns the bytes of one element; e2m1's is half a byte.
[[nodiscard]] constexpr double bytes_per_value(DType t) { return bits(t) / 8.0; }

/// Returns the bytes of n elements stored densely, rounded up to whole bytes.
[[nodiscard]] constexpr Bytes bytes_of(Count n, DType t) { return Bytes(ceil_div(n * Count(bits(t)), Count(8))); }

[[nodiscard]] std::string_view name_of(DType t);

/// Lists the types that a user may name (without `value`).
[[nodiscard]] std::vector<std::string> dtype_names();

/// Parses a type's name ("bf16", "f16" or "fp16", "f32" or "fp32", "e4m3" or "fp8", ...). Throws Error at `where`.
[[nodiscard]] DType parse_dtype(std::string_view name, const std::string& where);

}  // namespace napkin
