#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "kernels/reference/attention_data.hpp"
#include "kernels/reference/reference.hpp"
#include "kernels/runtime/measure.hpp"

namespace test_reference {

using namespace napkin;
using namespace napkin::internal;

namespace {

HostArray random_array(std::int64_t batches, std::int64_t rows, std::int64_t heads, std::int64_t columns, unsigned seed,
                       DType type) {
  HostArray out{{}, rows * heads * columns, columns, heads * columns};
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < batches * rows * heads * columns; ++i)
    out.values.push_back(encode(normal(engine), type));
  return out;
}

HostAttention problem(const AttentionSizes& s, const Mask& mask, DType type = DType::bf16) {
  HostAttention a;
  a.sizes = s;
  a.mask = mask;
  a.type = type;
  a.scale = 1 / std::sqrt(static_cast<double>(s.d));
  a.q = random_array(s.b, s.q, s.h * s.g, s.d, 1, type);
  a.k = random_array(s.b, s.x, s.h, s.d, 2, type);
  a.v = random_array(s.b, s.x, s.h, s.dv, 3, type);
  a.o = a.q;
  a.log_sum_exp.assign(static_cast<std::size_t>(s.b * s.h * s.g * s.q), 0);
  return a;
}

/// Computes a correct output, rounded to the type.
void solve(HostAttention& a) {
  std::size_t at = 0;
  for (std::int64_t b = 0; b < a.sizes.b; ++b) {
    for (std::int64_t head = 0; head < a.sizes.h * a.sizes.g; ++head) {
      for (std::int64_t q = 0; q < a.sizes.q; ++q) {
        const ReferenceRow row = reference_row(a, b, head, q);
        for (std::size_t c = 0; c < row.o.size(); ++c)
          a.o.values[a.o.at(b, head, q) + c] = encode(static_cast<float>(row.o[c]), a.type);
        a.log_sum_exp[at++] = static_cast<float>(row.log_sum_exp);
      }
    }
  }
}

}  // namespace

TEST_CASE("16-bit numbers") {
  CHECK(decode(0x3f80, DType::bf16) == 1.f);
  CHECK(encode(1.00390625f, DType::bf16) == 0x3f80);  // a tie goes to the even one
  CHECK(encode(1.01171875f, DType::bf16) == 0x3f82);
  CHECK(decode(0x3c00, DType::f16) == 1.f);
  CHECK(encode(65504.f, DType::f16) == 0x7bff);
  CHECK(encode(65520.f, DType::f16) == 0x7c00);
  CHECK(encode(5.9604645e-8f, DType::f16) == 1);
  for (const DType type : {DType::bf16, DType::f16}) {
    for (unsigned bits = 0; bits < 65536; ++bits) {
      const float value = decode(static_cast<std::uint16_t>(bits), type);
      if (std::isnan(value)) continue;
      CHECK(encode(value, type) == bits);
    }
  }
}

TEST_CASE("a row by hand") {
  HostAttention a = problem({1, 1, 1, 1, 2, 1, 1}, {});
  a.scale = 1;
  a.q.values = {encode(1.f, DType::bf16)};
  a.k.values = {encode(0.f, DType::bf16), encode(1.f, DType::bf16)};
  a.v.values = {encode(0.f, DType::bf16), encode(4.f, DType::bf16)};
  const ReferenceRow row = reference_row(a, 0, 0, 0);
  CHECK(row.o[0] == doctest::Approx(4 * std::exp(1.0) / (1 + std::exp(1.0))));
  CHECK(row.log_sum_exp == doctest::Approx(std::log(1 + std::exp(1.0))));
}

TEST_CASE("rows that see nothing give 0 and -infinity; the mask is aligned to the bottom right") {
  const HostAttention a = problem({1, 1, 1, 4, 2, 8, 8}, {Mask::Kind::causal, 0, 0});
  CHECK(reference_row(a, 0, 0, 1).log_sum_exp == -std::numeric_limits<double>::infinity());
  CHECK(reference_row(a, 0, 0, 1).o[3] == 0);
  CHECK(unfused_row(a, 0, 0, 1).o[3] == 0);
  const ReferenceRow third = reference_row(a, 0, 0, 2);  // sees key 0 alone
  CHECK(third.o[5] == doctest::Approx(static_cast<double>(decode(a.v.values[5], DType::bf16))));
}

TEST_CASE("a right output passes, each planted fault is found") {
  for (const DType type : {DType::bf16, DType::f16}) {
    HostAttention a = problem({2, 2, 2, 9, 13, 16, 16}, {Mask::Kind::causal, 0, 0}, type);
    solve(a);
    const Comparison right = compare(a, 1000, 0);
    CHECK(right.rows == 2 * 4 * 9);
    CHECK(right.good());
    CHECK(right.reference_error > 0);

    HostAttention wrong = a;
    wrong.o.values[17] = poison;
    CHECK(compare(wrong, 1000, 0).unwritten == 1);
    CHECK_FALSE(compare(wrong, 1000, 0).good());
    wrong = a;
    wrong.o.values[40] = encode(decode(wrong.o.values[40], type) + 0.25f, type);
    CHECK_FALSE(compare(wrong, 1000, 0).good());
    wrong = a;
    wrong.log_sum_exp[5] += 0.01f;
    CHECK_FALSE(compare(wrong, 1000, 0).good());
    wrong = a;
    wrong.o.values.push_back(0);  // a value beyond the array's end
    CHECK(compare(wrong, 1000, 0).strayed == 1);
  }
}

TEST_CASE("a log-sum-exp of a thousand may be off by more than one of ten") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(lse_difference(10.001, 10) == doctest::Approx(1e-3));
  CHECK(lse_difference(-1000.005, -1000) == doctest::Approx(5e-4));
  CHECK(lse_difference(-infinity, -infinity) == 0);
  CHECK(lse_difference(0, -infinity) == infinity);
  CHECK(lse_difference(std::nan(""), 10) == infinity);
}

TEST_CASE("fewer rows than there are") {
  HostAttention a = problem({1, 2, 1, 64, 8, 8, 8}, {});
  solve(a);
  const Comparison some = compare(a, 16, 7);
  CHECK(some.rows >= 14);
  CHECK(some.rows <= 18);
  CHECK(some.good());
}

TEST_CASE("operations by the field's convention") {
  AttentionLayout layout;
  layout.sizes = {2, 4, 3, 10, 20, 64, 128};
  CHECK(attention_flops(layout) == 2.0 * 2 * 12 * 10 * 20 * (64 + 128));
  layout.mask.kind = Mask::Kind::causal;
  CHECK(attention_flops(layout) == 2.0 * 12 * 10 * 20 * (64 + 128));
}

TEST_CASE("median, spread and error of timings") {
  const LaunchTiming even = summarise({5, 1, 3, 2, 4});
  CHECK(even.time == Seconds(3));
  CHECK(even.spread == doctest::Approx(2.0 / 3));
  CHECK(even.runs == 5);
  CHECK(even.error == doctest::Approx(1.2533 * (2.0 / 3) / 1.349 / std::sqrt(5.0)));
  CHECK(summarise({2, 2, 2}).error == 0);
  CHECK(summarise({}).runs == 0);
}

TEST_CASE("reasons of a slow clock") {
  CHECK(throttle_text(0) == "");
  CHECK(throttle_text(1) == "");  // idle
  CHECK(throttle_text(0x4 | 0x20) == "power limit, thermal");
}

}  // namespace test_reference
