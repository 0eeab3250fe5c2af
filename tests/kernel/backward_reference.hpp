#pragma once
// differentiate() computes attention's gradients on the CPU in float64, head by head, by code that shares nothing with
// the kernels: their results are compared with it. Example: differentiate() of a head with Rounding{bf16, false} is
// exact, with true it is what an unfused computation in bf16 makes.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/reference/reference.hpp"

namespace napkin::internal::test {

/// The results for one sequence and key head, in float64; those named `rounded` are rounded where a framework's unfused
/// formula rounds.
struct BackwardReference {
  std::vector<double> dq, dk, dv;
};

/// The rows of one head of a sequence, in float64.
struct HeadRows {
  std::vector<double> values;
  std::int64_t columns = 0;
  [[nodiscard]] const double* row(std::int64_t r) const { return values.data() + r * columns; }
};

/// The rounding of numbers to a type.
struct Rounding {
  DType type;
  bool on;
  [[nodiscard]] double operator()(double x) const {
    return on ? static_cast<double>(decode(encode(static_cast<float>(x), type), type)) : x;
  }
};

inline double dot(const double* a, const double* b, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

inline bool sees(const Mask& mask, std::int64_t query, std::int64_t key, std::int64_t queries, std::int64_t keys) {
  const std::int64_t diagonal = query + keys - queries;
  if (mask.kind == Mask::Kind::none) return true;
  if (mask.kind == Mask::Kind::causal) return key <= diagonal;
  return key >= diagonal - mask.left && key <= diagonal + mask.right;
}

struct QueryHead {
  HeadRows q, d_o, o;
};

/// Computes P of one row; returns its log-sum-exp.
inline double softmax_row(const QueryHead& head, const HeadRows& k, std::int64_t query, std::int64_t queries,
                          const Mask& mask, double scale, const Rounding& round, std::vector<double>& p) {
  const std::int64_t keys = static_cast<std::int64_t>(p.size());
  double maximum = -INFINITY, sum = 0;
  for (std::int64_t x = 0; x < keys; ++x) {
    const auto at = static_cast<std::size_t>(x);
    p[at] = sees(mask, query, x, queries, keys) ? round(scale * round(dot(head.q.row(query), k.row(x), k.columns)))
                                                : -INFINITY;
    maximum = std::max(maximum, p[at]);
  }
  if (maximum == -INFINITY) {
    std::fill(p.begin(), p.end(), 0.);
    return -INFINITY;
  }
  for (double& value : p) sum += value = std::exp(value - maximum);
  for (double& value : p) value = round(value / sum);
  return maximum + std::log(sum);
}

/// Adds one query head's part to dk and dv, and its dQ to dq. `round` on: the diagram's formula in the type, whose
/// delta is of the O that the forward pass has rounded.
inline void differentiate(const QueryHead& head, const HeadRows& k, const HeadRows& v, std::int64_t queries,
                          std::int64_t keys, const Mask& mask, double scale, const Rounding& round,
                          BackwardReference& out, double* dq) {
  std::vector<double> p(static_cast<std::size_t>(keys)), dp(p);
  for (std::int64_t i = 0; i < queries; ++i) {
    softmax_row(head, k, i, queries, mask, scale, round, p);
    double delta = 0;
    for (std::int64_t x = 0; x < keys; ++x) {
      const auto at = static_cast<std::size_t>(x);
      dp[at] = round(dot(head.d_o.row(i), v.row(x), v.columns));
      delta += p[at] * dp[at];
    }
    if (round.on) delta = round(dot(head.d_o.row(i), head.o.row(i), v.columns));
    for (std::int64_t x = 0; x < keys; ++x) {
      const auto at = static_cast<std::size_t>(x);
      if (p[at] == 0) continue;
      const double ds = scale * round(p[at] * (dp[at] - delta));
      for (std::int64_t c = 0; c < k.columns; ++c) {
        dq[i * k.columns + c] += ds * k.row(x)[c];
        out.dk[static_cast<std::size_t>(x * k.columns + c)] += ds * head.q.row(i)[c];
      }
      for (std::int64_t c = 0; c < v.columns; ++c)
        out.dv[static_cast<std::size_t>(x * v.columns + c)] += p[at] * head.d_o.row(i)[c];
    }
  }
}

}  // namespace napkin::internal::test
