// Fits to points whose right answer is known.
#include "model/machine/calibrate/fit.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "model/base/error.hpp"

namespace test_fit {

using namespace napkin;
using namespace napkin::internal;

TEST_CASE("median, and how far the quartiles lie apart") {
  const Estimate one = estimate({7});
  CHECK(one.value == 7);
  CHECK(one.spread == 0);
  CHECK(one.runs == 1);
  const Estimate five = estimate({14, 10, 11, 1000, 9});
  CHECK(five.value == 11);
  CHECK(five.spread == doctest::Approx(4.0 / 11));
  CHECK(estimate({-2, -4}).value == -3);
  CHECK(estimate({-2, -4}).spread > 0);
  CHECK(estimate({0, 0, 0}).spread == 0);
  CHECK_THROWS_AS((void)estimate({}), Error);
  CHECK_THROWS_AS((void)estimate({1, std::numeric_limits<double>::infinity()}), Error);
}

TEST_CASE("a line is found again, with what it leaves") {
  const Line exact = line_through({16, 32, 48}, {20, 24, 28});
  CHECK(exact.intercept == doctest::Approx(16));
  CHECK(exact.slope == doctest::Approx(0.25));
  CHECK(exact.rms == doctest::Approx(0));
  CHECK(exact.at(8) == doctest::Approx(18));
  const Line loose = line_through({0, 1, 2, 3}, {0, 1, 1, 2});  // by hand: slope 0.6, intercept 0.1
  CHECK(loose.slope == doctest::Approx(0.6));
  CHECK(loose.intercept == doctest::Approx(0.1));
  CHECK(loose.rms == doctest::Approx(std::sqrt((0.01 + 0.09 + 0.09 + 0.01) / 4)));
  CHECK_THROWS_AS((void)line_through({3, 3}, {1, 2}), Error);
  CHECK_THROWS_AS((void)line_through({1}, {2}), Error);
  CHECK_THROWS_AS((void)line_through({1, 2}, {2}), Error);
}

TEST_CASE("the knee of a bandwidth against the working set") {
  CHECK(knee({8, 16, 32, 48, 64}, {36, 35, 35, 33, 20}, 0.9) == 48);
  CHECK(knee({8, 16, 32}, {36, 20, 36}, 0.9) == 8);  // a rate that is reached again after a fall does not count
  CHECK(knee({8, 16, 32}, {36, 36, 36}, 0.9) == 32);
  CHECK_THROWS_AS((void)knee({}, {}, 0.9), Error);
}

TEST_CASE("energies are found again from the power of loads") {
  constexpr double f0 = 1.5e9, n = 1.2, idle = 90, tree = 60;
  constexpr double flop = 0.7e-12, instruction = 0.2e-9, byte = 80e-12;
  const auto point = [&](double clock, double flops, double instructions, double bytes) {
    const double r = clock / f0;
    const double power =
        idle + tree * std::pow(r, 1 + n) + std::pow(r, n) * (flop * flops + instruction * instructions) + byte * bytes;
    return PowerPoint{clock, power, {flops, instructions, bytes}};
  };
  const std::vector<PowerPoint> points = {point(1.98e9, 0, 0, 0),      point(1.6e9, 7e14, 0, 0),
                                          point(1.9e9, 0, 9e11, 0),    point(1.8e9, 0, 1e11, 4.5e12),
                                          point(1.4e9, 6e14, 3e11, 0), point(1.7e9, 2e14, 5e11, 1e12)};
  const PowerFit fit = fit_power(points, idle, {true, true, false}, n, f0);
  CHECK(fit.tree == doctest::Approx(tree));
  CHECK(fit.energies[0] == doctest::Approx(flop));
  CHECK(fit.energies[1] == doctest::Approx(instruction));
  CHECK(fit.energies[2] == doctest::Approx(byte));
  CHECK(fit.rms < 1e-6);
}

TEST_CASE("no energy is below nothing") {
  std::vector<PowerPoint> points;
  for (int i = 1; i < 8; ++i) points.push_back({1.5e9, 200.0 + 10 * i, {1e12 * i, -1e11 * i + 5e10 * (i % 3)}});
  const PowerFit fit = fit_power(points, 100, {true, true}, 1.2, 1.5e9);
  CHECK(fit.energies[0] >= 0);
  CHECK(fit.energies[1] >= 0);
  CHECK(fit.energies[0] == doctest::Approx(10e-12).epsilon(0.01));
  CHECK_THROWS_AS((void)fit_power({points[0]}, 100, {true, true}, 1.2, 1.5e9), Error);
}

}  // namespace test_fit
