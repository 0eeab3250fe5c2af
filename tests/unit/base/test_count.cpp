// Counts never overflow silently; numbers of different units do not combine.
#include <doctest/doctest.h>

#include <limits>
#include <type_traits>

#include "model/base/dtype.hpp"
#include "model/base/quantity.hpp"

namespace test_count {

using namespace napkin;

namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};

}  // namespace

TEST_CASE("arithmetic at the edge of 64 bits throws instead of wrapping") {
  const Count most = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS_AS((void)(most + 1), Overflow);
  CHECK_THROWS_AS((void)(most * 2), Overflow);
  CHECK_THROWS_AS((void)(Count(0) - most - 2), Overflow);
  CHECK_THROWS_AS((void)Count(std::numeric_limits<std::uint64_t>::max()), Overflow);
  CHECK((most - 1) + 1 == most);
}

TEST_CASE("ceilings") {
  for (int a = 0; a < 70; ++a) {
    for (int b = 1; b < 20; ++b) {
      int steps = 0;
      for (int covered = 0; covered < a; covered += b) ++steps;
      CHECK(ceil_div(a, b) == Count(steps));
      CHECK(round_up(a, b) == Count(steps * b));
    }
  }
}

TEST_CASE("a sum of different units does not compile") {
  static_assert(Addable<Bytes, Bytes>);
  static_assert(!Addable<Bytes, Values>);
  static_assert(!Addable<Cycles, Seconds>);
  static_assert(!Addable<Bytes, int>);
  static_assert(!std::is_convertible_v<Bytes, Values>);
  CHECK((Bytes(3000) / BytesPerSecond(1000)).value == 3.0);
  CHECK((Cycles(1e9) / Hertz(2e9)).value == 0.5);
}

TEST_CASE("types: names and dense storage") {
  CHECK(parse_dtype("fp8", "--dtype") == DType::e4m3);
  CHECK(parse_dtype("bfloat16", "--dtype") == DType::bf16);  // PyTorch's names
  CHECK(parse_dtype("float16", "--dtype") == DType::f16);
  CHECK(parse_dtype("float8_e4m3fn", "--dtype") == DType::e4m3);
  CHECK(bytes_of(3, DType::e2m1) == Bytes(2));
  CHECK(bytes_of(3, DType::bf16) == Bytes(6));
  for (const auto& name : dtype_names()) CHECK(name_of(parse_dtype(name, "")) == name);
  CHECK_THROWS_WITH_AS((void)parse_dtype("bf61", "--dtype"),
                       "--dtype: unknown type 'bf61': did you mean 'bf16'? (one of f64, f32, tf32, f16, bf16, e4m3, "
                       "e5m2, i32, i8, i4, e2m1)",
                       Error);
}

}  // namespace test_count
