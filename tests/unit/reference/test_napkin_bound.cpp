// napkin_fp8_sm90's results may have twice the plain formula's error, and at least the error of the two roundings at a
// result's end: where a row sees one key, a correct kernel may be a step off and the formula has no error.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "kernels/reference/napkin_fp8_data.hpp"

namespace test_napkin_bound {

using namespace napkin;
using namespace napkin::internal;

namespace {

double half(double value, bool toward_zero) {
  const auto x = static_cast<float>(value);
  std::uint16_t bits = encode(x, DType::f16);
  if (toward_zero && std::fabs(decode(bits, DType::f16)) > std::fabs(x)) --bits;
  return static_cast<double>(decode(bits, DType::f16));
}

/// Returns the largest error of v p / p, in units of the two roundings, over all v of e4m3 and p from 7/8 to 9/8.
double worst_of_one_key(bool cut) {
  const std::uint16_t least = encode(0.875F, DType::f16), most = encode(1.125F, DType::f16);
  double worst = 0;
  for (std::uint16_t bits = 1; bits < 127; ++bits) {
    const auto v = static_cast<double>(decode(bits, DType::e4m3));
    for (std::uint16_t p_bits = least; p_bits <= most; ++p_bits) {
      const auto p = static_cast<double>(decode(p_bits, DType::f16));
      const double result = half(half(p * v, cut) / p, false);
      worst = std::max(worst, std::fabs(result - v) / (2 * rounding_of(v, DType::f16)));
    }
  }
  return worst;
}

/// Makes a problem of one query and one key, whose right result is V.
NapkinArrays of_one_key() {
  AttentionLayout layout;
  layout.sizes = {1, 1, 1, 1, 1, 64, 64};
  layout.log_sum_exp = false;
  NapkinArrays out(layout);
  out.bytes.o = out.v;
  return out;
}

}  // namespace

TEST_CASE("a row of one key is off by the last two roundings at most, whatever its exponential") {
  CHECK(worst_of_one_key(false) == 1.0);
  CHECK(worst_of_one_key(true) == 2.0);  // with tensor cores that cut bits off: the bound reveals it
}

TEST_CASE("a row of one key may be a step off, and not two") {
  NapkinArrays arrays = of_one_key();
  CHECK(arrays.compare_all(1).good());
  std::vector<std::uint16_t>& o = arrays.bytes.o;
  const auto size = [](std::uint16_t bits) { return bits & 0x7FFF; };
  const auto largest = std::max_element(o.begin(), o.end(), [&](auto a, auto b) { return size(a) < size(b); });
  ++*largest;
  CHECK(arrays.compare_all(1).good());
  ++*largest;
  CHECK(!arrays.compare_all(1).good());
}

TEST_CASE("no step is allowed beside the formula's error where a row sees several keys") {
  AttentionLayout layout;
  layout.sizes = {1, 1, 1, 16, 65, 128, 128};
  layout.log_sum_exp = false;
  const Comparison compared = NapkinArrays(layout, 64).compare_all(16);
  CHECK(compared.rounding == 0);
  CHECK(compared.reference_error > 0);
}

}  // namespace test_napkin_bound
