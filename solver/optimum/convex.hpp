#pragma once
// solve() is the convex core of the geometric programme: it minimises a sum of exponentials of linear forms under one
// linear constraint and a box.

#include <Eigen/Dense>
#include <vector>

namespace napkin::internal {

/// The problem: minimise ln sum_t exp(offset_t - (lacks x)_t) over x subject to sum x <= budget, 0 <= x_i <= upper_i.
/// For x = ln g this is eq. 6.2: offset_t = ln A_t, lacks(t, i) = 1 if array t lacks axis i.
struct LogProgram {
  Eigen::MatrixXd lacks;   ///< terms x axes, entries 0 and 1; every column has a 1
  Eigen::VectorXd offset;  ///< ln of each term's coefficient
  Eigen::VectorXd upper;   ///< upper limit by axis, > 0, infinity if unbounded
  double budget = 0;       ///< ln(M / y), >= 0
};

enum class Bound { lower, inside, upper };

struct LogSolution {
  Eigen::VectorXd x;
  std::vector<Bound> bound;  ///< bound by axis
  Eigen::VectorXd terms;     ///< shares of the terms in the sum; they add to 1
  double value = 0;          ///< minimum of the logarithm
  int steps = 0;             ///< Newton steps taken
};

/// Returns the minimum, to about 1e-12 of `value`. Log-barrier Newton, then Newton on the axes strictly inside the box.
[[nodiscard]] LogSolution solve(const LogProgram& program);

/// Returns the value of the matrix game max_{u >= 0, sum u = 1} min_t sum_{i in J_t} u_i, the leading exponent kappa.
/// (model/README.md, "Optimal transfers" (iv); by the simplex method with Bland's rule, which terminates)
[[nodiscard]] double game_value(const Eigen::MatrixXd& lacks);

}  // namespace napkin::internal
