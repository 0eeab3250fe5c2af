#pragma once
// These functions are shorthands for tests of the interpreter: loaded(run, "K") is the number of values of K that it
// loaded.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "model/diagram/library.hpp"
#include "model/diagram/text.hpp"
#include "model/fusion/derive.hpp"
#include "model/interpret/run.hpp"

namespace napkin::internal::testing {

using Given = std::vector<std::pair<std::string, std::int64_t>>;

constexpr double infinity = std::numeric_limits<double>::infinity();

inline Problem problem_of(const Diagram& diagram, const Given& shape, const Mask& mask = {}) {
  return {resolve_sizes(diagram, shape, "shape"), mask, DType::value};
}

inline Streamed streamed_as(const Diagram& diagram, const std::vector<std::string>& grouped,
                            const std::string& stream) {
  return derive(diagram, roles_of(diagram, grouped, stream));
}

/// Returns the largest difference of two runs' outputs over the largest value, over the outputs of the first.
inline double gap(const Tensors& expected, const Tensors& found) {
  double worst = 0;
  for (const auto& [name, tensor] : expected) {
    worst = std::max(worst, difference(tensor, found.at(name)) / std::max(largest(tensor), 1e-300));
  }
  return worst;
}

inline Count loaded(const Run& run, const Diagram& diagram, const std::string& array, std::size_t level = 0) {
  return run.counts.levels[level].arrays[static_cast<std::size_t>(diagram.array(array))].loaded;
}
inline Count stored(const Run& run, const Diagram& diagram, const std::string& array, std::size_t level = 0) {
  return run.counts.levels[level].arrays[static_cast<std::size_t>(diagram.array(array))].stored;
}

/// One head of attention by the book, in float64: loops over plain vectors, nothing shared with the interpreter.
struct Attention {
  std::int64_t q = 0, x = 0, d = 0, dv = 0;
  std::vector<double> Q, K, V;

  [[nodiscard]] static bool visible(const Mask& mask, std::int64_t i, std::int64_t j, std::int64_t q, std::int64_t x) {
    if (mask.kind == Mask::Kind::causal) return j <= i + x - q;
    if (mask.kind == Mask::Kind::window) return i + x - q - mask.left <= j && j <= i + x - q + mask.right;
    return true;
  }

  /// Computes O[q,dv] and, per row, the log-sum-exp.
  [[nodiscard]] std::vector<double> outputs(const Mask& mask, std::vector<double>* lse = nullptr) const {
    std::vector<double> O(static_cast<std::size_t>(q * dv), 0.0);
    for (std::int64_t i = 0; i < q; ++i) {
      std::vector<double> s(static_cast<std::size_t>(x), -infinity);
      for (std::int64_t j = 0; j < x; ++j) {
        if (!visible(mask, i, j, q, x)) continue;
        double dot = 0;
        for (std::int64_t k = 0; k < d; ++k) dot += at(Q, i, k, d) * at(K, j, k, d);
        s[static_cast<std::size_t>(j)] = dot / std::sqrt(static_cast<double>(d));
      }
      const double top = *std::max_element(s.begin(), s.end());
      double sum = 0;
      for (double v : s) sum += v == -infinity ? 0.0 : std::exp(v - top);
      if (lse != nullptr) lse->push_back(sum == 0 ? -infinity : top + std::log(sum));
      if (sum == 0) continue;
      for (std::int64_t j = 0; j < x; ++j) {
        const double v = s[static_cast<std::size_t>(j)];
        const double p = v == -infinity ? 0.0 : std::exp(v - top) / sum;
        for (std::int64_t k = 0; k < dv; ++k) O[static_cast<std::size_t>(i * dv + k)] += p * at(V, j, k, dv);
      }
    }
    return O;
  }

 private:
  static double at(const std::vector<double>& m, std::int64_t i, std::int64_t j, std::int64_t width) {
    return m[static_cast<std::size_t>(i * width + j)];
  }
};

}  // namespace napkin::internal::testing
