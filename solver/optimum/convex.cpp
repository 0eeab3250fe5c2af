#include "solver/optimum/convex.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace napkin::internal {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Softmax {
  double value = 0;
  VectorXd shares;
};

/// Computes ln sum_t exp(offset_t - (lacks x)_t) and each term's share of the sum.
Softmax log_sum(const LogProgram& p, const VectorXd& x) {
  const VectorXd exponent = p.offset - p.lacks * x;
  const double top = exponent.maxCoeff();
  const VectorXd e = (exponent.array() - top).exp().matrix();
  const double sum = e.sum();
  return {top + std::log(sum), e / sum};
}

/// Returns the Newton direction of  H dx + nu 1 = -gradient,  1' dx = 0.
VectorXd tangent_step(const MatrixXd& hessian, const VectorXd& gradient) {
  const Index n = gradient.size();
  MatrixXd kkt = MatrixXd::Zero(n + 1, n + 1);
  kkt.topLeftCorner(n, n) = hessian;
  // Flat directions (several equal optima) would make the system singular.
  kkt.diagonal().head(n).array() += 1e-13 * (1.0 + hessian.diagonal().cwiseAbs().maxCoeff());
  kkt.row(n).head(n).setOnes();
  kkt.col(n).head(n).setOnes();
  VectorXd right = VectorXd::Zero(n + 1);
  right.head(n) = -gradient;
  return kkt.partialPivLu().solve(right).head(n);
}

/// Returns the covariance of the lacks under the shares, which is the Hessian of the log of the sum.
MatrixXd hessian_of(const LogProgram& p, const VectorXd& shares) {
  const VectorXd mean = p.lacks.transpose() * shares;
  return p.lacks.transpose() * shares.asDiagonal() * p.lacks - mean * mean.transpose();
}

double barrier(const LogProgram& p, const VectorXd& x, double weight) {
  if (x.minCoeff() <= 0 || (p.upper - x).minCoeff() <= 0) return std::numeric_limits<double>::infinity();
  return log_sum(p, x).value - weight * (x.array().log().sum() + (p.upper - x).array().log().sum());
}

/// Minimises the barrier function of one weight along the plane sum x = budget, from x.
int centre(const LogProgram& p, double weight, VectorXd& x) {
  int steps = 0;
  for (; steps < 60; ++steps) {
    const VectorXd shares = log_sum(p, x).shares;
    const VectorXd low = x.cwiseInverse(), high = (p.upper - x).cwiseInverse();
    const VectorXd gradient = -p.lacks.transpose() * shares - weight * (low - high);
    MatrixXd hessian = hessian_of(p, shares);
    hessian.diagonal() += weight * (low.cwiseAbs2() + high.cwiseAbs2());
    const VectorXd step = tangent_step(hessian, gradient);
    const double decrease = -gradient.dot(step);
    if (!(decrease > 1e-3 * weight)) break;
    const double before = barrier(p, x, weight);
    double length = 1;
    while (length > 1e-14 && !(barrier(p, x + length * step, weight) <= before - 1e-4 * length * decrease)) length /= 2;
    if (length <= 1e-14) break;
    x += length * step;
  }
  return steps;
}

/// Pins the axes at a bound and runs Newton on the others, so that the interior ones are exact to rounding.
void polish(const LogProgram& p, LogSolution& s) {
  constexpr double near = 1e-6;
  VectorXd x = s.x;
  std::vector<Index> inside;
  double budget = p.budget;
  for (Index i = 0; i < x.size(); ++i) {
    const bool low = x[i] < near, high = p.upper[i] - x[i] < near;
    s.bound.push_back(low ? Bound::lower : high ? Bound::upper : Bound::inside);
    if (low || high) {
      x[i] = low ? 0 : p.upper[i];
      budget -= x[i];
    } else {
      inside.push_back(i);
    }
  }
  if (inside.empty()) {
    s.x = x;
    return;
  }
  double spread = budget;
  for (Index i : inside) spread -= x[i];
  for (Index i : inside) x[i] += spread / static_cast<double>(inside.size());
  for (int step = 0; step < 30; ++step) {
    const VectorXd shares = log_sum(p, x).shares;
    const MatrixXd hessian = hessian_of(p, shares)(inside, inside);
    const VectorXd gradient = (-p.lacks.transpose() * shares)(inside);
    const VectorXd dx = tangent_step(hessian, gradient);
    if (!dx.allFinite() || dx.cwiseAbs().maxCoeff() > 0.1) break;
    for (std::size_t k = 0; k < inside.size(); ++k) x[inside[k]] += dx[static_cast<Index>(k)];
    if (dx.cwiseAbs().maxCoeff() < 1e-14) break;
  }
  if ((x.array() > -near).all() && ((p.upper - x).array() > -near).all()) {
    s.x = x.cwiseMax(0).cwiseMin(p.upper);
  }
}

}  // namespace

LogSolution solve(const LogProgram& program) {
  LogProgram p = program;
  // No axis can take more than the whole budget; a finite upper end that is never reached keeps the barrier finite.
  p.upper = p.upper.cwiseMin(p.budget + 1.0);
  LogSolution s;
  const double room = program.upper.sum();
  if (p.budget <= 0) {
    s.x = VectorXd::Zero(p.upper.size());
    s.bound.assign(static_cast<std::size_t>(p.upper.size()), Bound::lower);
  } else if (room <= p.budget) {
    s.x = p.upper;
    s.bound.assign(static_cast<std::size_t>(p.upper.size()), Bound::upper);
  } else {
    s.x = p.upper * (p.budget / p.upper.sum());
    for (double weight = 1; p.upper.size() > 1 && weight > 1e-13; weight *= 0.05) s.steps += centre(p, weight, s.x);
    polish(p, s);
  }
  const Softmax f = log_sum(program, s.x);
  s.value = f.value;
  s.terms = f.shares;
  return s;
}

double game_value(const MatrixXd& lacks) {
  // maximise v  s.t.  v - (lacks u)_t <= 0 for every t,  sum u <= 1,  u, v >= 0.  Columns: u, v, slacks, right side.
  const Index terms = lacks.rows(), axes = lacks.cols();
  const Index rows = terms + 1, variables = axes + 1, columns = variables + rows + 1;
  MatrixXd tableau = MatrixXd::Zero(rows + 1, columns);
  tableau.block(0, 0, terms, axes) = -lacks;
  tableau.block(0, axes, terms, 1).setOnes();
  tableau.block(terms, 0, 1, axes).setOnes();
  tableau.block(0, variables, rows, rows).setIdentity();
  tableau(terms, columns - 1) = 1;
  tableau(rows, axes) = -1;
  std::vector<Index> basis(static_cast<std::size_t>(rows));
  for (Index r = 0; r < rows; ++r) basis[static_cast<std::size_t>(r)] = variables + r;
  constexpr double zero = 1e-11;
  for (;;) {
    Index enter = 0;
    while (enter < columns - 1 && tableau(rows, enter) >= -zero) ++enter;  // Bland: the first that improves
    if (enter == columns - 1) return tableau(rows, columns - 1);
    Index leave = -1;
    double least = std::numeric_limits<double>::infinity();
    for (Index r = 0; r < rows; ++r) {
      if (tableau(r, enter) <= zero) continue;
      const double step = tableau(r, columns - 1) / tableau(r, enter);
      const bool tie = leave >= 0 && std::abs(step - least) <= zero &&
                       basis[static_cast<std::size_t>(r)] < basis[static_cast<std::size_t>(leave)];
      if (step < least - zero || tie) {
        least = step;
        leave = r;
      }
    }
    if (leave < 0) return tableau(rows, columns - 1);  // does not happen: v is at most the number of axes
    tableau.row(leave) /= tableau(leave, enter);
    for (Index r = 0; r <= rows; ++r) {
      if (r != leave) tableau.row(r) -= tableau(r, enter) * tableau.row(leave);
    }
    basis[static_cast<std::size_t>(leave)] = enter;
  }
}

}  // namespace napkin::internal
