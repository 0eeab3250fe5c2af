#include "kernels/reference/attention_fp8_data.hpp"

#include <cmath>
#include <random>

#include "kernels/reference/normal_e4m3.hpp"

namespace napkin::internal {
namespace {

std::vector<std::int32_t> first_rows_of(const std::vector<std::int32_t>& lengths) {
  std::vector<std::int32_t> out;
  if (lengths.empty()) return out;
  out.push_back(0);
  for (const std::int32_t length : lengths) out.push_back(out.back() + length);
  return out;
}

/// Makes scales from a quarter to four; some blocks of 128 rows have scale 0.
std::vector<float> scales(Fp8Scales kind, std::int64_t batches, std::int64_t heads, std::int64_t rows,
                          std::uint64_t seed, ScaleView& view) {
  if (kind == Fp8Scales::none) return {};
  const std::int64_t blocks = kind == Fp8Scales::block ? (rows + 127) / 128 : 1;
  view = {0, heads * blocks, blocks, kind == Fp8Scales::block ? 1 : 0};
  std::vector<float> out(static_cast<std::size_t>(batches * heads * blocks));
  std::mt19937_64 engine(seed);
  std::uniform_real_distribution<float> exponent(-2, 2);
  for (float& one : out) one = kind == Fp8Scales::block && engine() % 8 == 0 ? 0 : std::exp2(exponent(engine));
  return out;
}

HostArray widened(const std::vector<std::uint8_t>& values, const TensorView& view) {
  return {{values.begin(), values.end()}, view.batch, view.head, view.row};
}

}  // namespace

Fp8Arrays::Fp8Arrays(const AttentionLayout& layout, Fp8Scales kind)
    : q_starts(first_rows_of(layout.q_lengths)), x_starts(first_rows_of(layout.x_lengths)), layout_(layout) {
  const AttentionSizes& s = layout.sizes;
  const bool packed = !q_starts.empty();
  const std::int64_t batches = packed ? 1 : s.b, q_rows = packed ? q_starts.back() : s.q,
                     x_rows = packed ? x_starts.back() : s.x;
  const auto lay = [&](std::int64_t rows, std::int64_t heads, std::int64_t columns, auto& values, TensorView& view) {
    view = strided(layout, rows, heads, columns);
    values.resize(static_cast<std::size_t>(view.batch * batches));
  };
  lay(q_rows, s.h * s.g, s.d, q, call_.q);
  lay(x_rows, s.h, s.d, k, call_.k);
  lay(x_rows, s.h, s.dv, v, call_.v);
  lay(q_rows, s.h * s.g, s.dv, o, call_.o);
  o.assign(o.size(), poison);
  q = normal_e4m3(std::ssize(q), layout.seed * 16 + 1, layout.deviation);
  k = normal_e4m3(std::ssize(k), layout.seed * 16 + 2, layout.deviation);
  v = normal_e4m3(std::ssize(v), layout.seed * 16 + 3, layout.deviation);
  if (layout.log_sum_exp) log_sum_exp.resize(static_cast<std::size_t>(batches * s.h * s.g * q_rows));
  q_scale = scales(kind, s.b, s.h * s.g, s.q, layout.seed * 16 + 4, call_.q_scale);
  k_scale = scales(kind, s.b, s.h, s.x, layout.seed * 16 + 5, call_.k_scale);
  v_scale = scales(kind, s.b, s.h, s.x, layout.seed * 16 + 6, call_.v_scale);
  call_.q_rows = q_rows;
  call_.x_rows = x_rows;
}

HostAttention Fp8Arrays::host() const {
  HostAttention a;
  a.sizes = layout_.sizes;
  a.mask = layout_.mask;
  a.type = DType::e4m3;
  a.scale = 1 / std::sqrt(static_cast<double>(layout_.sizes.d));
  a.q = widened(q, call_.q);
  a.k = widened(k, call_.k);
  a.v = widened(v, call_.v);
  a.o = {o, call_.o.batch, call_.o.head, call_.o.row};
  const auto scales_of = [](const std::vector<float>& values, const ScaleView& view) {
    return HostScales{values, view.batch, view.head, view.block};
  };
  a.q_scale = scales_of(q_scale, call_.q_scale);
  a.k_scale = scales_of(k_scale, call_.k_scale);
  a.v_scale = scales_of(v_scale, call_.v_scale);
  a.log_sum_exp = log_sum_exp;
  a.q_starts = q_starts;
  a.x_starts = x_starts;
  return a;
}

Comparison Fp8Arrays::compare_all(std::int64_t rows) const {
  constexpr std::int64_t few = 16;
  Comparison out = compare(host(), rows, layout_.seed);
  if (out.rows <= few) out.rounding = rounding_of(out.largest, DType::e4m3);
  return out;
}

}  // namespace napkin::internal
