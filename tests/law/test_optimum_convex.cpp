// The real-valued optimum: its optimality conditions, its closed form compared with its numbers, and random group
// sizes, which move no less.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "solver/optimum/convex.hpp"
#include "tests/support/case_count.hpp"
#include "tests/unit/optimum/programs.hpp"

namespace test_optimum_convex {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

GeometricProgram random_program(std::mt19937& random, int axes) {
  std::uniform_real_distribution<double> ln(0, 12), ln_size(0.5, 7);
  GeometricProgram p;
  for (int i = 0; i < axes; ++i) {
    const std::string name(1, static_cast<char>('i' + i));
    p.axes.push_back({name, i, std::exp(ln_size(random)), symbol(i, name), true});
  }
  const int terms = 1 + static_cast<int>(random() % 5U);
  for (int t = 0; t < terms; ++t) {
    // drawn before the set, so that every compiler has the same order of draws
    const double coefficient = std::exp(ln(random));
    term(p, coefficient, random() % (1U << axes));
  }
  p.resident = std::exp(ln_size(random) / 3);
  return p;
}

// Returns the sum of the terms that lack an axis, -dH / d ln g_i.
double pull(const GeometricProgram& p, const std::vector<double>& group, std::size_t axis) {
  GeometricProgram lacking = p;
  std::erase_if(lacking.terms, [&](const ProgramTerm& t) { return ((t.lacks >> axis) & 1U) == 0; });
  return transfer_at(lacking, group);
}

double room_left(const GeometricProgram& p, const std::vector<double>& group, double memory) {
  double room = std::log(memory / p.resident);
  for (double g : group) room -= std::log(g);
  return room;
}

}  // namespace

TEST_CASE("KKT: one multiplier for the free axes, none larger at 1, none smaller at the axis's size (theorem i)") {
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    CAPTURE(round);
    const GeometricProgram p = random_program(random, 1 + static_cast<int>(random() % 4U));
    const double memory = p.resident * std::exp(static_cast<double>(random() % 200U) / 10);
    const ClosedForm f = closed_form(p, memory);
    REQUIRE(f.fits);
    const double scale = f.transfer;
    CHECK(room_left(p, f.group, memory) > -1e-9);
    double least_free = INFINITY, most_free = 0, at_one = 0, at_size = INFINITY;
    for (std::size_t i = 0; i < p.axes.size(); ++i) {
      const double mu = pull(p, f.group, i);
      if (mu == 0) continue;
      const bool one = f.group[i]<1 + 1e-5, full = f.group[i]> p.axes[i].size * (1 - 1e-5);
      CHECK(f.group[i] > 1 - 1e-9);
      CHECK(f.group[i] < p.axes[i].size * (1 + 1e-9));
      if (one) at_one = std::max(at_one, mu);
      if (full) at_size = std::min(at_size, mu);
      if (one || full) continue;
      least_free = std::min(least_free, mu);
      most_free = std::max(most_free, mu);
    }
    if (most_free > 0) {
      CHECK(most_free - least_free < 1e-7 * scale);
      CHECK(at_one < least_free + 1e-5 * scale);
      CHECK(at_size > most_free - 1e-5 * scale);
      CHECK(room_left(p, f.group, memory) < 1e-9);  // if an axis still has something to gain, no memory is unused
    }
  }
}

TEST_CASE("no random feasible point is below the optimum") {
  std::mt19937 random(13);
  std::exponential_distribution<double> share(1);
  for (int round = 0; round < 200; ++round) {
    const GeometricProgram p = random_program(random, 1 + static_cast<int>(random() % 4U));
    const double memory = p.resident * std::exp(static_cast<double>(random() % 150U) / 10);
    const double optimum = closed_form(p, memory).transfer;
    for (int rival = 0; rival < 50; ++rival) {
      std::vector<double> x;
      double sum = 0;
      for (std::size_t i = 0; i < p.axes.size(); ++i) sum += x.emplace_back(share(random));
      for (std::size_t i = 0; i < p.axes.size(); ++i) {
        x[i] = std::min(std::exp(x[i] / sum * std::log(memory / p.resident)), p.axes[i].size);
      }
      CHECK(transfer_at(p, x) >= optimum * (1 - 1e-9));
    }
  }
}

TEST_CASE("where a theorem applies the terms are the optimum, and stay so while the same limits bind") {
  std::mt19937 random(17);
  int applied = 0, not_applied = 0;
  for (int round = 0; round < 500; ++round) {
    CAPTURE(round);
    const GeometricProgram p = random_program(random, 1 + static_cast<int>(random() % 4U));
    const double memory = p.resident * std::exp(static_cast<double>(random() % 150U) / 10);
    const ClosedForm f = closed_form(p, memory);
    double sum = 0, previous = -1;
    for (const PowerTerm& t : f.terms) {
      sum += t.alpha * std::pow(memory, -t.beta);
      CHECK(t.beta > previous);
      previous = t.beta;
    }
    (f.exact ? applied : not_applied)++;
    if (f.exact) CHECK(sum == doctest::Approx(f.transfer).epsilon(1e-9));
    if (f.exact && f.terms.back().beta > 0)
      CHECK(f.local_exponent == doctest::Approx(f.terms.back().beta).epsilon(1e-6));
    // the leading power alone is smaller, since other powers are positive
    if (!f.exact) CHECK(sum <= f.transfer * (1 + 1e-6));
  }
  CHECK(applied > 100);
  CHECK(not_applied > 10);
}

// A case that a run of the law above found: the limits of i and k bind only to the constant's rounding when it is
// solved with.
TEST_CASE("a constant far above the other terms hides no limit that binds") {
  GeometricProgram p;
  const double size[] = {290.786325, 13.566000, 11.314387};
  for (int i = 0; i < 3; ++i) {
    const std::string name(1, static_cast<char>('i' + i));
    p.axes.push_back({name, i, size[i], symbol(i, name), true});
  }
  term(p, 131812.853479, 0b000U);
  term(p, 2.370481, 0b011U);
  term(p, 37.073931, 0b101U);
  p.resident = 1.239943;
  const ClosedForm f = closed_form(p, 6094.033355);
  CHECK(f.group[0] == size[0]);
  CHECK(f.group[2] == size[2]);
  CHECK(f.local_exponent == doctest::Approx(f.terms.back().beta).epsilon(1e-9));
}

TEST_CASE("H* never rises with memory, and the box never helps") {
  std::mt19937 random(19);
  for (int round = 0; round < rounds(100); ++round) {
    const GeometricProgram p = random_program(random, 1 + static_cast<int>(random() % 4U));
    double previous = INFINITY;
    for (double ln = 0; ln < 16; ln += 0.7) {
      const double memory = p.resident * std::exp(ln);
      const double boxed = closed_form(p, memory).transfer;
      CHECK(boxed <= previous * (1 + 1e-9));
      CHECK(closed_form(p, memory, Box::none).transfer <= boxed * (1 + 1e-9));
      previous = boxed;
    }
  }
}

TEST_CASE("the matrix game's value: equal to the exponent of theorem (iii), bounded by its strategies") {
  for (int n = 1; n <= 5; ++n) {
    for (int k = 1; k <= n; ++k) {
      std::vector<std::vector<double>> rows;
      for (unsigned set = 0; set < (1U << n); ++set) {
        if (__builtin_popcount(set) != k) continue;
        rows.emplace_back();
        for (int i = 0; i < n; ++i) rows.back().push_back((set >> i) & 1U);
      }
      Eigen::MatrixXd lacks(static_cast<Eigen::Index>(rows.size()), n);
      for (std::size_t r = 0; r < rows.size(); ++r) {
        for (int i = 0; i < n; ++i) lacks(static_cast<Eigen::Index>(r), i) = rows[r][static_cast<std::size_t>(i)];
      }
      CHECK(game_value(lacks) == doctest::Approx(double(k) / n));
    }
  }
  std::mt19937 random(23);
  std::exponential_distribution<double> share(1);
  for (int round = 0; round < 200; ++round) {
    Eigen::MatrixXd lacks(1 + static_cast<int>(random() % 5U), 1 + static_cast<int>(random() % 5U));
    for (auto& entry : lacks.reshaped()) entry = random() % 2U == 0 ? 0 : 1;
    const double value = game_value(lacks);
    for (int trial = 0; trial < 50; ++trial) {
      Eigen::VectorXd u(lacks.cols()), w(lacks.rows());
      for (double& x : u) x = share(random);
      for (double& x : w) x = share(random);
      CHECK((lacks * u).minCoeff() / u.sum() <= value + 1e-9);
      CHECK((w.transpose() * lacks).maxCoeff() / w.sum() >= value - 1e-9);
    }
  }
}

}  // namespace test_optimum_convex
