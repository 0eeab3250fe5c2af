#pragma once
// Differences are exact bounds of integer differences, x - y <= c: the dependence tests solve systems of them. Internal
// to the folder.

#include <cstdint>
#include <vector>

namespace napkin::internal::dependence {

/// A system of constraints x - y <= c over integer variables 0 .. n-1, kept closed: every bound is the tightest that
/// follows, and (shortest paths over integers) one that an integer solution reaches.
class Differences {
 public:
  explicit Differences(std::size_t variables);

  /// Adds x - y <= c. After a contradiction the system stays infeasible.
  void at_most(std::size_t x, std::size_t y, std::int64_t c);
  /// Adds x - y == c.
  void equal(std::size_t x, std::size_t y, std::int64_t c) {
    at_most(x, y, c);
    at_most(y, x, -c);
  }
  [[nodiscard]] bool feasible() const { return feasible_; }
  /// Returns the largest x - y over all solutions; the variables must be bounded.
  [[nodiscard]] std::int64_t most(std::size_t x, std::size_t y) const { return bound(x, y); }
  [[nodiscard]] std::int64_t least(std::size_t x, std::size_t y) const { return -bound(y, x); }

  static constexpr std::int64_t unbounded = INT64_MAX / 4;

 private:
  [[nodiscard]] std::int64_t bound(std::size_t x, std::size_t y) const { return bounds_[x * n_ + y]; }
  std::size_t n_;
  std::vector<std::int64_t> bounds_;  ///< [x * n + y]: x - y <= bound
  bool feasible_ = true;
};

}  // namespace napkin::internal::dependence
