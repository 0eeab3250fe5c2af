// Storage types: known bit patterns, every pattern decoded and encoded again, rounding compared with exhaustive search.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "model/interpret/storage.hpp"

namespace test_storage {

using namespace napkin;
using namespace napkin::internal;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

unsigned width(DType type) {
  const FloatFormat f = format_of(type);
  return static_cast<unsigned>(1 + f.exponent_bits + f.mantissa_bits);
}

// Returns the finite values of a type, ascending, zero once.
std::vector<double> finite_values(DType type) {
  std::vector<double> all;
  for (std::uint32_t pattern = 0; pattern < (1U << width(type)); ++pattern) {
    const double value = decode(type, pattern);
    if (std::isfinite(value)) all.push_back(value);
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

TEST_CASE("known bit patterns") {
  CHECK(encode(DType::f16, 1.0) == 0x3C00);
  CHECK(encode(DType::f16, -2.0) == 0xC000);
  CHECK(encode(DType::f16, 65504.0) == 0x7BFF);
  CHECK(encode(DType::f16, 0x1p-24) == 0x0001);
  CHECK(encode(DType::f16, 0x1p-14) == 0x0400);
  CHECK(encode(DType::f16, infinity) == 0x7C00);
  CHECK(encode(DType::bf16, 1.0) == 0x3F80);
  CHECK(encode(DType::bf16, 3.140625) == 0x4049);
  CHECK(encode(DType::bf16, -infinity) == 0xFF80);
  CHECK(encode(DType::e4m3, 1.0) == 0x38);
  CHECK(encode(DType::e4m3, 448.0) == 0x7E);
  CHECK(encode(DType::e4m3, 0x1p-9) == 0x01);
  CHECK(encode(DType::e4m3, std::numeric_limits<double>::quiet_NaN()) == 0x7F);
  CHECK(encode(DType::e5m2, 1.0) == 0x3C);
  CHECK(encode(DType::e5m2, 57344.0) == 0x7B);
  CHECK(encode(DType::e5m2, 0x1p-16) == 0x01);
  CHECK(encode(DType::e2m1, 6.0) == 0x7);
  CHECK(encode(DType::e2m1, -0.5) == 0x9);
  CHECK(encode(DType::f32, 1.0) == 0x3F800000U);
  CHECK(std::signbit(round_to(DType::f16, -0.0)));
}

TEST_CASE("every pattern comes back") {
  for (DType type : {DType::f16, DType::bf16, DType::e4m3, DType::e5m2, DType::e2m1, DType::tf32}) {
    CAPTURE(name_of(type));
    int wrong = 0;
    for (std::uint32_t pattern = 0; pattern < (1U << width(type)); ++pattern) {
      const double value = decode(type, pattern);
      if (std::isnan(value) || (std::isinf(value) && bits(type) <= 8)) continue;  // 8 bits saturate
      wrong += encode(type, value) == pattern && round_to(type, value) == value ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("rounding is to the nearest, ties to even: around every pair of neighbours") {
  for (DType type : {DType::f16, DType::bf16, DType::e4m3, DType::e5m2, DType::e2m1}) {
    CAPTURE(name_of(type));
    const std::vector<double> values = finite_values(type);
    int wrong = 0;
    for (std::size_t i = 0; i + 1 < values.size(); ++i) {
      const double low = values[i], high = values[i + 1], middle = low + (high - low) / 2;
      const bool low_is_even = (encode(type, low) & 1U) == 0;
      wrong += round_to(type, middle) == (low_is_even ? low : high) ? 0 : 1;
      wrong += round_to(type, std::nextafter(middle, -infinity)) == low ? 0 : 1;
      wrong += round_to(type, std::nextafter(middle, infinity)) == high ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("beyond the largest number") {
  CHECK(round_to(DType::f16, 65519.99) == 65504);
  CHECK(round_to(DType::f16, 65520) == infinity);
  CHECK(round_to(DType::f16, -1e9) == -infinity);
  CHECK(round_to(DType::bf16, 3.4e38) == infinity);
  CHECK(round_to(DType::e4m3, 464) == 448);  // a tie: 448 is even
  CHECK(round_to(DType::e4m3, 1e9) == 448);
  CHECK(round_to(DType::e4m3, -infinity) == -448);
  CHECK(std::isnan(round_to(DType::e4m3, 465, Saturation::none)));
  CHECK(round_to(DType::e5m2, 61440, Saturation::none) == infinity);
  CHECK(round_to(DType::e5m2, 61439, Saturation::none) == 57344);
  CHECK(round_to(DType::e5m2, 1e9) == 57344);
  CHECK(round_to(DType::e2m1, 100, Saturation::none) == 6);
  CHECK(std::isnan(round_to(DType::f16, std::numeric_limits<double>::quiet_NaN())));
}

TEST_CASE("subnormals") {
  CHECK(round_to(DType::f16, 0x1p-25) == 0);  // a tie with 0, which is even
  CHECK(round_to(DType::f16, 0x1.8p-25) == 0x1p-24);
  CHECK(round_to(DType::e4m3, 0x1.8p-9) == 0x1p-8);  // a tie between 1 and 2 steps
  CHECK(round_to(DType::bf16, 1e-45) == 0);
  CHECK(round_to(DType::f32, 1e-46) == 0);
}

TEST_CASE("float64 stays; integers are whole and saturate") {
  CHECK(round_to(DType::f64, 0.1) == 0.1);
  CHECK(round_to(DType::value, 0.1) == 0.1);
  CHECK(round_to(DType::f32, 0.1) == static_cast<double>(0.1F));
  CHECK_THROWS_AS((void)format_of(DType::i8), Error);
  CHECK(round_to(DType::i8, 1.5) == 2);
  CHECK(round_to(DType::i4, -100) == -8);
  CHECK(round_to(DType::i4, 100) == 7);
}

}  // namespace test_storage
