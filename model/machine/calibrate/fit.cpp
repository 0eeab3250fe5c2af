#include "model/machine/calibrate/fit.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/base/error.hpp"

namespace napkin::internal {
namespace {

double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (at - static_cast<double>(low));
}

double rms_of(const Eigen::VectorXd& left) { return std::sqrt(left.squaredNorm() / static_cast<double>(left.size())); }

/// Solves least squares with x >= 0: drops the column of the most negative x until there is none. (few columns, well
/// conditioned)
Eigen::VectorXd solve_positive(const Eigen::MatrixXd& a, const Eigen::VectorXd& b) {
  std::vector<Eigen::Index> kept(static_cast<std::size_t>(a.cols()));
  std::iota(kept.begin(), kept.end(), 0);
  while (!kept.empty()) {
    Eigen::MatrixXd part(a.rows(), static_cast<Eigen::Index>(kept.size()));
    for (std::size_t i = 0; i < kept.size(); ++i) part.col(static_cast<Eigen::Index>(i)) = a.col(kept[i]);
    const Eigen::VectorXd x = part.colPivHouseholderQr().solve(b);
    Eigen::Index least = 0;
    if (x.minCoeff(&least) >= 0) {
      Eigen::VectorXd all = Eigen::VectorXd::Zero(a.cols());
      for (std::size_t i = 0; i < kept.size(); ++i) all(kept[i]) = x(static_cast<Eigen::Index>(i));
      return all;
    }
    kept.erase(kept.begin() + least);
  }
  return Eigen::VectorXd::Zero(a.cols());
}

}  // namespace

Estimate estimate(std::vector<double> values) {
  if (values.empty()) throw Error("estimate", "no values", "at least one repetition");
  if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); })) {
    throw Error("estimate", "a value is not finite", "finite numbers");
  }
  std::sort(values.begin(), values.end());
  Estimate out;
  out.value = quantile(values, 0.5);
  out.runs = static_cast<int>(values.size());
  if (out.value != 0) out.spread = (quantile(values, 0.75) - quantile(values, 0.25)) / std::abs(out.value);
  return out;
}

Line line_through(const std::vector<double>& x, const std::vector<double>& y) {
  const bool distinct = !x.empty() && std::any_of(x.begin(), x.end(), [&](double each) { return each != x.front(); });
  if (x.size() != y.size() || !distinct) throw Error("line", "fewer than two points", "y at two or more distinct x");
  const auto n = static_cast<Eigen::Index>(x.size());
  Eigen::MatrixXd a(n, 2);
  a.col(0).setOnes();
  a.col(1) = Eigen::Map<const Eigen::VectorXd>(x.data(), n);
  const Eigen::Map<const Eigen::VectorXd> b(y.data(), n);
  const Eigen::VectorXd solution = a.colPivHouseholderQr().solve(b);
  return {solution(0), solution(1), rms_of(a * solution - b)};
}

double knee(const std::vector<double>& sizes, const std::vector<double>& rates, double share) {
  if (sizes.empty() || sizes.size() != rates.size())
    throw Error("knee", "no points", "as many rates as sizes, at least one");
  std::size_t last = 0;
  while (last + 1 < sizes.size() && rates[last + 1] >= share * rates.front()) ++last;
  return sizes[last];
}

PowerFit fit_power(const std::vector<PowerPoint>& points, double idle, const std::vector<bool>& scales, double exponent,
                   double reference_clock) {
  const auto rows = static_cast<Eigen::Index>(points.size()), kinds = static_cast<Eigen::Index>(scales.size());
  if (rows <= kinds) throw Error("power", "fewer loads than unknowns", "more loads than kinds of work");
  Eigen::MatrixXd a(rows, kinds + 1);
  Eigen::VectorXd b(rows);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const PowerPoint& point = points[static_cast<std::size_t>(i)];
    const double ratio = point.clock / reference_clock;
    a(i, 0) = std::pow(ratio, 1 + exponent);
    for (Eigen::Index k = 0; k < kinds; ++k) {
      a(i, k + 1) = point.rates.at(static_cast<std::size_t>(k)) *
                    (scales[static_cast<std::size_t>(k)] ? std::pow(ratio, exponent) : 1);
    }
    b(i) = point.power - idle;
  }
  // The columns are scaled to equal size, as rates of 1e15 a second stand beside watts.
  Eigen::VectorXd size = a.colwise().norm();
  for (double& each : size) each = each > 0 ? each : 1;
  const Eigen::VectorXd solution = solve_positive(a * size.cwiseInverse().asDiagonal(), b).cwiseQuotient(size);
  PowerFit out;
  out.tree = solution(0);
  out.energies.assign(solution.data() + 1, solution.data() + 1 + kinds);
  out.rms = rms_of(a * solution - b);
  return out;
}

}  // namespace napkin::internal
