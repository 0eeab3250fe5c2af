#pragma once
// Texts of folds: variance by Welford's formulas, the place of the largest value, log-sum-exp, a running sum, and some
// whose merging depends on the order of merging.

#include <string>

#include "model/diagram/text.hpp"

namespace napkin::internal::testing {

inline const std::string variance = R"yaml(  variance:
    of: [x]
    state: {n: 0, mean: 0, spread: 0}
    each: {n: 1, mean: x, spread: 0}
    merge:
      n: a.n + b.n
      mean: (a.n * a.mean + b.n * b.mean) / max(a.n + b.n, 1)
      spread: a.spread + b.spread + (b.mean - a.mean) * (b.mean - a.mean) * a.n * b.n / max(a.n + b.n, 1)
    result: spread / n
)yaml";
inline const std::string largest_at = R"yaml(  largest_at:
    of: [x, place]
    state: {top: -1e300, at: -1}
    each: {top: x, at: place}
    merge:
      top: max(a.top, b.top)
      at: where(less(a.top, b.top), b.at, a.at)
    result: at
)yaml";
inline const std::string log_sum_exp = R"yaml(  log_sum_exp:
    of: [s]
    state: {m: -1e300, z: 0}
    each: {m: s, z: 1}
    merge:
      m: max(a.m, b.m)
      z: a.z * exp(a.m - max(a.m, b.m)) + b.z * exp(b.m - max(a.m, b.m))
    result: m + log(z)
)yaml";
inline const std::string total = R"yaml(  total:
    of: [x]
    state: {sum: 0}
    each: {sum: x}
    merge: {sum: a.sum + b.sum}
    result: sum
)yaml";
/// The last value of a row and its difference from the first, which needs the order of elements.
inline const std::string rise = R"yaml(  rise:
    of: [x]
    state: {some: 0, first: 0, last: 0}
    each: {some: 1, first: x, last: x}
    merge:
      some: max(a.some, b.some)
      first: "where(a.some, a.first, b.first)"
      last: "where(b.some, b.last, a.last)"
    result: last - first
)yaml";

/// Returns the diagram with those folds.
inline Diagram with_folds(const std::string& folds, const std::string& axes, const std::string& inputs,
                          const std::string& operation, const std::string& output) {
  return parse_diagram("algorithm: t\naxes: {" + axes + "}\nfolds:\n" + folds + "inputs: [" + inputs +
                           "]\noperations:\n  - " + operation + "\noutputs: [" + output + "]\n",
                       "t.yaml");
}

}  // namespace napkin::internal::testing
