#pragma once
// These functions fit rates, slopes, knees and energies to measured points: line_through finds the clocks that each box
// adds. They are pure, and do not know which experiment the points come from.

#include <vector>

namespace napkin::internal {

/// A measured number: the median of its repetitions, and their spread.
struct Estimate {
  double value = 0;
  double spread = 0;  ///< (third quartile - first quartile) / |median|; 0 for a single value
  int runs = 0;
};

/// Returns the median of the values and their spread. Throws Error for no values, and for values that are not finite.
[[nodiscard]] Estimate estimate(std::vector<double> values);

/// A line y = intercept + slope x by least squares, with the rms of the residuals. Throws Error for fewer than two
/// distinct x.
struct Line {
  double intercept = 0, slope = 0, rms = 0;
  [[nodiscard]] double at(double x) const { return intercept + slope * x; }
};
[[nodiscard]] Line line_through(const std::vector<double>& x, const std::vector<double>& y);

/// Returns the largest of the ascending `sizes` up to which every rate is at least `share` of the first; the first size
/// if already the second rate is below. Throws Error for empty lists, or lists of different lengths.
[[nodiscard]] double knee(const std::vector<double>& sizes, const std::vector<double>& rates, double share);

/// The clock at which energies are stated (eq. 16.1).
inline constexpr double energy_clock = 1.5e9;

/// A load that ran long enough for its power to be read.
struct PowerPoint {
  double clock = 0;           ///< hertz
  double power = 0;           ///< watts
  std::vector<double> rates;  ///< rate of each kind of work, per second
};

/// The fit of P = idle + tree (f/f0)^(1+n) + sum over core kinds of energy (f/f0)^n rate + sum over the others of
/// energy rate (eq. 16.1): least squares in tree and energies, none of them negative. `scales[k]`: kind k belongs to
/// the core.
struct PowerFit {
  double tree = 0;               ///< watts at f0
  std::vector<double> energies;  ///< joules a unit of work; of kinds that scale with the clock, at f0
  double rms = 0;                ///< watts
};
[[nodiscard]] PowerFit fit_power(const std::vector<PowerPoint>& points, double idle, const std::vector<bool>& scales,
                                 double exponent, double reference_clock = energy_clock);

}  // namespace napkin::internal
