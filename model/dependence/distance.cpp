#include "model/dependence/distance.hpp"

#include <algorithm>

namespace napkin::internal::dependence {

Differences::Differences(std::size_t variables) : n_(variables), bounds_(variables * variables, unbounded) {
  for (std::size_t x = 0; x < n_; ++x) bounds_[x * n_ + x] = 0;
}

/// Adds an edge to a closed graph: any path uses it at most once.
void Differences::at_most(std::size_t x, std::size_t y, std::int64_t c) {
  if (!feasible_ || bound(x, y) <= c) return;
  if (bound(y, x) < unbounded && bound(y, x) + c < 0) {
    feasible_ = false;
    return;
  }
  for (std::size_t u = 0; u < n_; ++u) {
    if (bound(u, x) >= unbounded) continue;
    for (std::size_t v = 0; v < n_; ++v) {
      if (bound(y, v) >= unbounded) continue;
      bounds_[u * n_ + v] = std::min(bound(u, v), bound(u, x) + c + bound(y, v));
    }
  }
}

}  // namespace napkin::internal::dependence
