#include "kernels/reference/reference.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/reference/e4m3_sum.hpp"

namespace napkin::internal {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The place of a sequence of a batch: batch index and first rows as the arrays address them, and its lengths.
struct Sequence {
  std::int64_t batch = 0, q_first = 0, x_first = 0, queries = 0, keys = 0;
};

Sequence sequence_of(const HostAttention& a, std::int64_t batch) {
  if (a.q_starts.empty()) return {batch, 0, 0, a.sizes.q, a.sizes.x};
  const auto i = static_cast<std::size_t>(batch);
  return {0, a.q_starts[i], a.x_starts[i], a.q_starts[i + 1] - a.q_starts[i], a.x_starts[i + 1] - a.x_starts[i]};
}

/// Returns true if query i sees key j, by the definitions of docs/algorithms.md.
bool sees(const Mask& mask, const Sequence& s, std::int64_t i, std::int64_t j) {
  const std::int64_t diagonal = i + s.keys - s.queries;
  switch (mask.kind) {
    case Mask::Kind::none: return true;
    case Mask::Kind::causal: return j <= diagonal;
    case Mask::Kind::window: return j >= diagonal - mask.left && j <= diagonal + mask.right;
    case Mask::Kind::prefix: return j < mask.left || j <= diagonal;
  }
  return false;
}

double dot(const HostArray& a, std::size_t a_at, const HostArray& b, std::size_t b_at, std::int64_t n, DType type) {
  double sum = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
    sum +=
        static_cast<double>(decode(a.values[a_at + i], type)) * static_cast<double>(decode(b.values[b_at + i], type));
  }
  return sum;
}

double rounded(double value, DType type) {
  return static_cast<double>(decode(encode(static_cast<float>(value), type), type));
}

/// Sums products of e4m3 as the tensor cores do, 32 at a time; elements beyond n count as 0.
double tensor_dot(const HostArray& a, std::size_t a_at, const HostArray& b, std::size_t b_at, std::int64_t n) {
  float sum = 0;
  for (std::int64_t from = 0; from < n; from += e4m3_sum_terms) {
    std::array<std::uint8_t, e4m3_sum_terms> x{}, y{};
    for (std::int64_t i = from; i < std::min<std::int64_t>(n, from + e4m3_sum_terms); ++i) {
      const auto at = static_cast<std::size_t>(i);
      x[at % e4m3_sum_terms] = static_cast<std::uint8_t>(a.values[a_at + at]);
      y[at % e4m3_sum_terms] = static_cast<std::uint8_t>(b.values[b_at + at]);
    }
    sum = e4m3_sum(sum, x.data(), y.data());
  }
  return static_cast<double>(sum);
}

enum class Sums { exact, of_tensor_cores, of_halves };

/// Columns of e4m3, and keys of fp16, that one tensor instruction contracts: a sum in fp16 is rounded after each.
constexpr std::int64_t contracted_columns = 32, contracted_keys = 16;

/// Computes a score as tensor cores that sum in fp16 do.
double dot_of_halves(const HostArray& a, std::size_t a_at, const HostArray& b, std::size_t b_at, std::int64_t count,
                     DType type) {
  double sum = 0;
  for (std::int64_t from = 0; from < count; from += contracted_columns) {
    const auto skip = static_cast<std::size_t>(from);
    const std::int64_t columns = std::min(contracted_columns, count - from);
    sum = rounded(sum + dot(a, a_at + skip, b, b_at + skip, columns, type), DType::f16);
  }
  return sum;
}

/// Computes a row's scores by key, -infinity at masked ones.
std::vector<double> scores(const HostAttention& a, const Sequence& s, std::int64_t batch, std::int64_t head,
                           std::int64_t query, Sums sums = Sums::exact) {
  std::vector<double> out(static_cast<std::size_t>(s.keys), -infinity);
  const double row = a.q_scale.at(batch, head, query);
  for (std::int64_t j = 0; j < s.keys; ++j) {
    if (!sees(a.mask, s, query, j)) continue;
    const std::size_t q = a.q.at(s.batch, head, s.q_first + query),
                      k = a.k.at(s.batch, head / a.sizes.g, s.x_first + j);
    const double sum = sums == Sums::exact       ? dot(a.q, q, a.k, k, a.sizes.d, a.type)
                       : sums == Sums::of_halves ? dot_of_halves(a.q, q, a.k, k, a.sizes.d, a.type)
                                                 : tensor_dot(a.q, q, a.k, k, a.sizes.d);
    out[static_cast<std::size_t>(j)] = sum * row * a.k_scale.at(batch, head / a.sizes.g, j);
  }
  return out;
}

/// Adds to `out` the keys from `from` to `to`, each with its weight.
void add_weighted(const HostAttention& a, const Sequence& s, std::int64_t batch, std::int64_t head,
                  const std::vector<double>& weights, std::int64_t from, std::int64_t to, std::vector<double>& out) {
  for (std::int64_t j = from; j < to; ++j) {
    const double w = weights[static_cast<std::size_t>(j)] * a.v_scale.at(batch, head / a.sizes.g, j);
    if (w == 0) continue;
    const std::size_t at = a.v.at(s.batch, head / a.sizes.g, s.x_first + j);
    for (std::size_t c = 0; c < out.size(); ++c) out[c] += w * static_cast<double>(decode(a.v.values[at + c], a.type));
  }
}

std::vector<double> weighted(const HostAttention& a, const Sequence& s, std::int64_t batch, std::int64_t head,
                             const std::vector<double>& weights) {
  std::vector<double> out(static_cast<std::size_t>(a.sizes.dv), 0.0);
  add_weighted(a, s, batch, head, weights, 0, s.keys, out);
  return out;
}

struct Softmax {
  std::vector<double> weights;
  double log_sum_exp = -infinity;
};

/// The exponentials relative to the largest score, and their sum.
struct Exponentials {
  std::vector<double> weights;
  double most = -infinity, sum = 0;
};

Exponentials exponentials(std::vector<double> s) {
  const double most = s.empty() ? -infinity : *std::max_element(s.begin(), s.end());
  if (most == -infinity) return {std::vector<double>(s.size(), 0.0), -infinity, 0};
  double sum = 0;
  for (double& one : s) sum += one = std::exp(one - most);
  return {std::move(s), most, sum};
}

Softmax softmax(std::vector<double> s) {
  Exponentials e = exponentials(std::move(s));
  if (e.most == -infinity) return {std::move(e.weights), -infinity};
  for (double& one : e.weights) one /= e.sum;
  return {std::move(e.weights), e.most + std::log(e.sum)};
}

float decode_e4m3(std::uint16_t bits) {
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  if ((bits & 0x7f) == 0x7f) return std::numeric_limits<float>::quiet_NaN();
  const float size =
      std::ldexp(static_cast<float>(exponent == 0 ? fraction : fraction + 8), std::max(exponent, 1) - 10);
  return (bits & 0x80) != 0 ? -size : size;
}

std::uint16_t encode_e4m3(float value) {
  const auto sign = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 24 & 0x80u);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7fu);
  const double size = std::min(std::fabs(static_cast<double>(value)), 448.0);
  if (size == 0) return sign;
  int exponent = 0;
  std::frexp(size, &exponent);
  const int step = std::max(exponent - 4, -9);  // exponent of the last bit
  const auto whole = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, -step)));
  // As an integer, a number is its biased exponent above 3 bits of fraction; the carry of rounding does the rest.
  return static_cast<std::uint16_t>(sign | (whole + static_cast<std::uint32_t>(step + 9) * 8u));
}

std::uint16_t encode_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000u);
  const double size = std::fabs(static_cast<double>(value));
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (size >= 65520) return static_cast<std::uint16_t>(sign | 0x7c00u);
  int exponent = 0;
  std::frexp(size, &exponent);
  const int step = std::max(exponent - 11, -24);  // exponent of the last bit
  const double whole = std::nearbyint(std::ldexp(size, -step));
  if (whole == 0) return sign;
  // As an integer, a half is its biased exponent above 10 bits of fraction; the carry of rounding does the rest.
  const int biased = step + 24;
  const auto magnitude =
      static_cast<std::uint32_t>(whole) + (biased > 0 ? static_cast<std::uint32_t>(biased) * 1024u : 0u);
  return static_cast<std::uint16_t>(sign | magnitude);
}

float decode_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  constexpr std::uint32_t bias = 127 - 15;  // difference of the exponent biases of float and fp16
  if (exponent > 0 && exponent < 31)
    return std::bit_cast<float>((bits & 0x8000u) << 16 | (((bits & 0x7fffu) << 13) + (bias << 23)));
  float size = 0;
  if (exponent == 31) {
    size = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  } else {
    size = std::ldexp(static_cast<float>(exponent == 0 ? fraction : fraction + 1024), std::max(exponent, 1) - 25);
  }
  return (bits & 0x8000) != 0 ? -size : size;
}

double largest_difference(const HostAttention& a, std::size_t at, const std::vector<double>& reference) {
  double most = 0;
  for (std::size_t c = 0; c < reference.size(); ++c) {
    const double error = std::fabs(static_cast<double>(decode(a.o.values[at + c], output_type(a.type))) - reference[c]);
    most = larger_error(most, error);
  }
  return most;
}

/// Returns the index of a row's log-sum-exp: [b, h g, q], or [h g, q rows] when packed.
std::size_t lse_at(const HostAttention& a, const Sequence& s, std::int64_t batch, std::int64_t head,
                   std::int64_t query) {
  const std::int64_t heads = a.sizes.h * a.sizes.g;
  if (a.q_starts.empty()) return static_cast<std::size_t>((batch * heads + head) * a.sizes.q + query);
  return static_cast<std::size_t>(head * a.q_starts.back() + s.q_first + query);
}

void count_poison(const HostAttention& a, Comparison& out) {
  std::vector<bool> owned(a.o.values.size(), false);
  for (std::int64_t batch = 0; batch < a.sizes.b; ++batch) {
    const Sequence s = sequence_of(a, batch);
    for (std::int64_t head = 0; head < a.sizes.h * a.sizes.g; ++head) {
      for (std::int64_t query = 0; query < s.queries; ++query) {
        const std::size_t at = a.o.at(s.batch, head, s.q_first + query);
        for (std::size_t c = 0; c < static_cast<std::size_t>(a.sizes.dv); ++c) owned[at + c] = true;
      }
    }
  }
  for (std::size_t i = 0; i < owned.size(); ++i) {
    if (owned[i] && a.o.values[i] == poison) ++out.unwritten;
    if (owned[i] || a.o.values[i] == poison) continue;
    if (out.strayed++ == 0) out.beside = "O[" + std::to_string(i) + "]";
  }
  if (!a.beside.empty()) out.beside = a.beside;
  for (const float one : a.log_sum_exp) out.unwritten += std::bit_cast<std::uint32_t>(one) == lse_poison ? 1 : 0;
}

}  // namespace

double larger_error(double most, double error) { return std::isnan(error) ? infinity : std::max(most, error); }

constexpr double lse_unit = 100;  // a score of a thousand is a sum of products in f32, with an error of 1e-4 and more

double lse_difference(double measured, double reference) {
  if (reference == -infinity) return measured == -infinity ? 0 : infinity;
  return larger_error(0, std::fabs(measured - reference) / std::max(1.0, std::fabs(reference) / lse_unit));
}

float decode(std::uint16_t bits, DType type) {
  if (type == DType::f16) return decode_half(bits);
  if (type == DType::e4m3) return decode_e4m3(bits);
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t encode(float value, DType type) {
  if (type == DType::f16) return encode_half(value);
  if (type == DType::e4m3) return encode_e4m3(value);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return 0x7fc0;
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

ReferenceRow reference_row(const HostAttention& a, std::int64_t batch, std::int64_t head, std::int64_t query) {
  const Sequence s = sequence_of(a, batch);
  std::vector<double> row = scores(a, s, batch, head, query);
  for (double& one : row) one *= a.scale;
  const Softmax p = softmax(std::move(row));
  return {weighted(a, s, batch, head, p.weights), p.log_sum_exp};
}

namespace {

/// Computes the row in fp16 as the tensor cores and the fp16 unit would: scores, exponents, exponentials, and outputs,
/// which are summed for `summed_keys` keys at a time. Sums of the tensor cores are rounded after each instruction.
ReferenceRow row_of_halves(const HostAttention& a, const Sequence& s, std::int64_t batch, std::int64_t head,
                           std::int64_t query) {
  constexpr DType half = DType::f16;
  std::vector<double> row = scores(a, s, batch, head, query, Sums::of_halves);
  const double factor = rounded(a.scale * std::numbers::log2e, half);
  double most = -infinity, size = 0, sum = 0;
  for (double& one : row) {
    if (one == -infinity) continue;
    size = std::max(size, std::fabs(one));
    most = std::max(most, rounded(one * factor, half));
  }
  ReferenceRow out{std::vector<double>(static_cast<std::size_t>(a.sizes.dv), 0.0), -infinity, 0};
  if (most == -infinity) return out;
  for (double& one : row) {
    if (one != -infinity) one = rounded(one * factor - most, half);
    sum += one = rounded(std::exp2(one), half);
  }
  for (std::int64_t from = 0; from < s.keys; from += a.summed_keys) {
    const std::int64_t end = std::min(s.keys, from + a.summed_keys);
    std::vector<double> part(out.o.size(), 0.0);
    for (std::int64_t j = from; j < end; j += contracted_keys) {
      add_weighted(a, s, batch, head, row, j, std::min(end, j + contracted_keys), part);
      for (double& one : part) one = rounded(one, half);
    }
    for (std::size_t c = 0; c < part.size(); ++c) out.o[c] = rounded(out.o[c] + part[c], half);
  }
  for (double& one : out.o) one = rounded(one / sum, half);
  out.log_sum_exp = most / std::numbers::log2e + std::log(sum);
  out.rounding = 4 * rounding_of(size * a.scale, half);
  return out;
}

}  // namespace

ReferenceRow unfused_row(const HostAttention& a, std::int64_t batch, std::int64_t head, std::int64_t query) {
  const Sequence s = sequence_of(a, batch);
  if (a.summed_keys > 0) return row_of_halves(a, s, batch, head, query);
  if (a.type == DType::e4m3) {
    std::vector<double> row = scores(a, s, batch, head, query, Sums::of_tensor_cores);
    for (double& one : row) one *= a.scale;
    Exponentials e = exponentials(std::move(row));
    const double log_sum_exp = e.most + std::log(e.sum);  // a row that sees no key: both terms are -infinity
    for (double& one : e.weights) one = rounded(one, a.type);
    std::vector<double> o = weighted(a, s, batch, head, e.weights);
    for (double& one : o) one = e.sum > 0 ? rounded(one / e.sum, output_type(a.type)) : 0;
    return {std::move(o), log_sum_exp};
  }
  std::vector<double> row = scores(a, s, batch, head, query);
  for (double& one : row) {
    if (one != -infinity) one = rounded(rounded(one, a.type) * a.scale, a.type);
  }
  Softmax p = softmax(std::move(row));
  for (double& one : p.weights) one = rounded(one, a.type);
  std::vector<double> o = weighted(a, s, batch, head, p.weights);
  for (double& one : o) one = rounded(one, a.type);
  return {std::move(o), p.log_sum_exp};
}

double rounding_of(double largest, DType type) {
  const int digits = type == DType::bf16   ? 8
                     : type == DType::e4m3 ? 4
                                           : 11;  // bits of the significand, the leading one included
  int exponent = 0;
  (void)std::frexp(largest, &exponent);  // largest < 2^exponent
  return largest > 0 ? std::ldexp(1.0, exponent - digits - 1) : 0;
}

Comparison compare(const HostAttention& a, std::int64_t most, std::uint64_t seed) {
  Comparison out;
  count_poison(a, out);
  const std::int64_t heads = a.sizes.h * a.sizes.g, rows = a.sizes.b * heads * a.sizes.q;
  // The step has no common factor with the numbers of rows, so that the sample has all heads and all places in a
  // sequence.
  const std::int64_t step = std::max<std::int64_t>(1, rows / std::max<std::int64_t>(1, most)) | (rows > most ? 1 : 0);
  for (std::int64_t i = rows > most ? static_cast<std::int64_t>(seed % static_cast<std::uint64_t>(step)) : 0; i < rows;
       i += step) {
    const std::int64_t query = i % a.sizes.q, head = i / a.sizes.q % heads, batch = i / a.sizes.q / heads;
    const Sequence s = sequence_of(a, batch);
    if (query >= s.queries) continue;
    const ReferenceRow reference = reference_row(a, batch, head, query);
    const ReferenceRow unfused = unfused_row(a, batch, head, query);
    out.max_error =
        std::max(out.max_error, largest_difference(a, a.o.at(s.batch, head, s.q_first + query), reference.o));
    for (std::size_t c = 0; c < unfused.o.size(); ++c) {
      out.reference_error = std::max(out.reference_error, std::fabs(unfused.o[c] - reference.o[c]));
      out.largest = std::max(out.largest, std::fabs(reference.o[c]));
    }
    if (!a.log_sum_exp.empty()) {
      const double right = log_sum_exp_to_hold(a.type, reference, unfused);
      const double error = lse_difference(a.log_sum_exp[lse_at(a, s, batch, head, query)], right);
      out.lse_error =
          larger_error(out.lse_error, std::isfinite(error) ? std::max(0.0, error - unfused.rounding) : error);
    }
    ++out.rows;
  }
  return out;
}

}  // namespace napkin::internal
