#pragma once
// key_row and query_row compute single rows of attention's gradients on the CPU in float64, from the O and log-sum-exp
// of the forward kernel. Large launches of the backward kernel are compared with them. Example: key_row(head, 7, {bf16,
// false}).dk is dK of key 7.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/kernel/backward_reference.hpp"

namespace napkin::internal::test {

/// One key head of one sequence, with the query heads that share it.
struct KeyHead {
  AttentionSizes sizes;
  Mask mask;
  HeadRows k, v;
  std::vector<QueryHead> queries;
  std::vector<std::vector<float>> log_sum_exp;  ///< log-sum-exp of each query head

  [[nodiscard]] bool seen(std::int64_t i, std::int64_t x) const { return sees(mask, i, x, sizes.q, sizes.x); }
};

/// P and dS (times the scale) of one query and key.
struct PairGradient {
  double p, ds;
};

inline PairGradient pair_of(const KeyHead& head, std::size_t g, std::int64_t i, std::int64_t x, const Rounding& round) {
  const QueryHead& query = head.queries[g];
  const HeadRows &k = head.k, &v = head.v;
  const double scale = 1 / std::sqrt(static_cast<double>(head.sizes.d));
  const auto lse = static_cast<double>(head.log_sum_exp[g][static_cast<std::size_t>(i)]);
  const double s = round(scale * round(dot(query.q.row(i), k.row(x), k.columns)));
  const double p = round(std::exp(s - lse)), dp = round(dot(query.d_o.row(i), v.row(x), v.columns));
  const double delta = round(dot(query.d_o.row(i), query.o.row(i), v.columns));
  return {p, scale * round(p * (dp - delta))};
}

/// Adds `factor` times a row to `to`.
inline void add_row(std::vector<double>& to, double factor, const double* row) {
  for (std::size_t c = 0; c < to.size(); ++c) to[c] += factor * row[c];
}

/// Computes dQ of one query.
inline std::vector<double> query_row(const KeyHead& head, std::size_t g, std::int64_t i, const Rounding& round) {
  std::vector<double> dq(static_cast<std::size_t>(head.sizes.d));
  for (std::int64_t x = 0; x < head.sizes.x; ++x) {
    if (head.seen(i, x)) add_row(dq, pair_of(head, g, i, x, round).ds, head.k.row(x));
  }
  for (double& value : dq) value = round(value);
  return dq;
}

struct KeyRow {
  std::vector<double> dk, dv;
};

/// Computes dK and dV of one key.
inline KeyRow key_row(const KeyHead& head, std::int64_t x, const Rounding& round) {
  KeyRow out{std::vector<double>(static_cast<std::size_t>(head.sizes.d)),
             std::vector<double>(static_cast<std::size_t>(head.sizes.dv))};
  for (std::size_t g = 0; g < head.queries.size(); ++g) {
    for (std::int64_t i = 0; i < head.sizes.q; ++i) {
      if (!head.seen(i, x)) continue;
      const PairGradient pair = pair_of(head, g, i, x, round);
      add_row(out.dk, pair.ds, head.queries[g].q.row(i));
      add_row(out.dv, pair.p, head.queries[g].d_o.row(i));
    }
  }
  for (double& value : out.dk) value = round(value);
  for (double& value : out.dv) value = round(value);
  return out;
}

/// Largest errors of one gradient over the rows compared.
struct GradientError {
  double kernel = 0, unfused = 0, largest = 0;

  void add(const double* found, const std::vector<double>& exact, const std::vector<double>& rounded) {
    for (std::size_t c = 0; c < exact.size(); ++c) {
      kernel = larger_error(kernel, std::fabs(found[c] - exact[c]));
      unfused = std::max(unfused, std::fabs(rounded[c] - exact[c]));
      largest = std::max(largest, std::fabs(exact[c]));
    }
  }
  [[nodiscard]] bool good(DType type) const { return kernel <= allowed_error(unfused, rounding_of(largest, type)); }
};

}  // namespace napkin::internal::test
