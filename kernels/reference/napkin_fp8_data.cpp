#include "kernels/reference/napkin_fp8_data.hpp"

#include <algorithm>

namespace napkin::internal {
namespace {

/// Converts e4m3 to fp16, which has all of its numbers.
template <class Bytes>
std::vector<std::uint16_t> halves_of(const Bytes& bytes) {
  std::vector<std::uint16_t> out;
  out.reserve(bytes.size());
  for (const auto one : bytes) out.push_back(encode(decode(one, DType::e4m3), DType::f16));
  return out;
}

}  // namespace

NapkinArrays::NapkinArrays(const AttentionLayout& layout, std::int64_t summed_keys)
    : bytes(layout, Fp8Scales::none), v(halves_of(bytes.v)), seed_(layout.seed), summed_keys_(summed_keys) {}

Comparison NapkinArrays::compare_all(std::int64_t rows) const {
  HostAttention a = bytes.host();
  a.type = DType::f16;
  a.summed_keys = summed_keys_;
  for (HostArray* array : {&a.q, &a.k, &a.v}) array->values = halves_of(array->values);
  Comparison out = compare(a, rows, seed_);
  // A result is rounded where its product is written and where it is divided by the sum.
  const double ends = 2 * rounding_of(out.largest, DType::f16);
  out.rounding = std::max(0.0, ends - 2 * out.reference_error);
  return out;
}

}  // namespace napkin::internal
