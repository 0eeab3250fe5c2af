#include <doctest/doctest.h>

#include "tests/unit/optimum/programs.hpp"

namespace test_geometric_program {

using namespace napkin;
using namespace napkin::internal;
using namespace napkin::internal::test;

namespace {

const PowerTerm& last(const ClosedForm& f) { return f.terms.back(); }

double sum_of(const ClosedForm& f, double memory) {
  double sum = 0;
  for (const PowerTerm& t : f.terms) sum += t.alpha * std::pow(memory, -t.beta);
  return sum;
}

}  // namespace

TEST_CASE("matmul: 2 a b c M^-1/2 + a c, square groups of sqrt(M)") {
  const double a = 600, b = 500, c = 400, memory = 1024;
  const ClosedForm f = closed_form(matmul(a, b, c), memory);
  REQUIRE(f.terms.size() == 2);
  CHECK(f.terms[0].beta == 0);
  CHECK(f.terms[0].alpha == doctest::Approx(a * c));
  CHECK(last(f).beta == doctest::Approx(0.5).epsilon(1e-12));
  CHECK(last(f).alpha == doctest::Approx(2 * a * b * c).epsilon(1e-12));
  CHECK(f.group[0] == doctest::Approx(32));
  CHECK(f.group[1] == doctest::Approx(32));
  CHECK(f.transfer == doctest::Approx(2 * a * b * c / 32 + a * c).epsilon(1e-12));
  CHECK(f.local_exponent == doctest::Approx(0.5));
  CHECK(f.exact);
  CHECK(f.formula == "a c + 2 a b c / M^(1/2)");
}

TEST_CASE("matmul in its box: the capped forms") {
  // a < sqrt(M), M < a c:  a^2 b c / M + b c + a c
  ClosedForm f = closed_form(matmul(32, 512, 4096), 4096);
  CHECK(f.formula == "a c + b c + a^2 b c / M");
  CHECK(f.transfer == doctest::Approx(32. * 32 * 512 * 4096 / 4096 + 512. * 4096 + 32. * 4096));
  CHECK(f.group[0] == doctest::Approx(32));
  CHECK(f.group[1] == doctest::Approx(128));
  CHECK(last(f).beta == doctest::Approx(1));
  // The other axis is the short one.
  f = closed_form(matmul(4096, 512, 32), 4096);
  CHECK(f.formula == "a c + a b + a b c^2 / M");
  // M >= a c: everything once.
  f = closed_form(matmul(32, 512, 64), 4096);
  CHECK(f.formula == "a c + b c + a b");
  CHECK(f.transfer == doctest::Approx(32 * 512 + 512 * 64 + 32 * 64));
  CHECK(f.local_exponent == 0);
}

TEST_CASE("erratum L3: outside its range the text-book bound is not attainable") {
  const GeometricProgram p = matmul(32, 512, 4096);
  CHECK(closed_form(p, 4096).transfer / 1e6 == doctest::Approx(2.75).epsilon(0.002));
  const ClosedForm book = closed_form(p, 4096, Box::none);
  CHECK(book.transfer / 1e6 == doctest::Approx(2.23).epsilon(0.002));
  CHECK(book.formula == "a c + 2 a b c / M^(1/2)");
}

TEST_CASE("attention: 2 q d + 4 q x d^2 / M with g_q = M / 2d (erratum P13)") {
  const double q = 8192, x = 4096, d = 128, memory = 116224;
  const ClosedForm f = closed_form(attention(q, x, d), memory);
  REQUIRE(f.terms.size() == 2);
  CHECK(f.terms[0].alpha == doctest::Approx(2 * q * d));
  CHECK(f.terms[1].alpha == doctest::Approx(4 * q * x * d * d));
  CHECK(f.terms[1].beta == doctest::Approx(1));
  CHECK(f.group[0] == doctest::Approx(memory / 2 / d));
  CHECK(f.formula == "2 q d + 4 q x d^2 / M");
  CHECK(f.transfer == doctest::Approx(sum_of(f, memory)));
}

TEST_CASE("grouped queries, capped: 2 g q d + 2 x d max(1, 2 d g q / M)") {
  const double x = 8192, d = 128, memory = 116224;
  for (double q : {1.0, 64.0, 128.0, 1024.0}) {
    for (double g : {1.0, 4.0, 8.0}) {
      const ClosedForm f = closed_form(grouped_query(g, q, x, d), memory);
      const double expected = 2 * g * q * d + 2 * x * d * std::max(1.0, 2 * d * g * q / memory);
      CHECK(f.transfer == doctest::Approx(expected).epsilon(1e-12));
      CHECK(sum_of(f, memory) == doctest::Approx(expected).epsilon(1e-12));
      CHECK(f.group[0] <= g * (1 + 1e-12));
      CHECK(f.group[1] <= q * (1 + 1e-12));
    }
  }
  CHECK(closed_form(grouped_query(8, 1024, x, d), memory).formula == "2 g q d + 4 g q x d^2 / M");
  CHECK(closed_form(grouped_query(8, 1, x, d), memory).formula == "2 g q d + 2 x d");
  // The axis declared last is filled first: 454 rows are 454 of q = 1024, or all of q = 64 and 7.1 of g.
  const ClosedForm small = closed_form(grouped_query(8, 64, x, d), memory);
  CHECK(small.group[1] == doctest::Approx(64));
  CHECK(small.group[0] == doctest::Approx(memory / 2 / d / 64));
}

TEST_CASE("erratum P18: in decode grouping divides the traffic by g") {
  // 7.8 for g = 8, q = 1
  const double g = 8, x = 1024, d = 128, memory = 116224;
  const double separate = g * closed_form(grouped_query(1, 1, x, d), memory).transfer;
  CHECK(separate / closed_form(grouped_query(g, 1, x, d), memory).transfer == doctest::Approx(7.94).epsilon(0.001));
}

TEST_CASE("three operands that each lack two axes: exponent 2/3") {
  GeometricProgram p = program({{"i", 500}, {"j", 300}, {"k", 200}});
  const double b = 64, all = 500. * 300 * 200 * b;
  const Product named = symbol(0, "i") * symbol(1, "j") * symbol(2, "k") * symbol(3, "b");
  for (AxisSet lacks : {0b110U, 0b101U, 0b011U}) term(p, all, lacks, named);
  const double memory = 4096;
  const ClosedForm f = closed_form(p, memory);
  REQUIRE(f.terms.size() == 1);
  CHECK(f.terms[0].beta == doctest::Approx(2. / 3));
  CHECK(f.terms[0].alpha == doctest::Approx(3 * all));
  CHECK(f.formula == "3 i j k b / M^(2/3)");
  for (double g : f.group) CHECK(g == doctest::Approx(16));
}

TEST_CASE("homogeneous programmes have one exact power however many terms (theorem iii)") {
  GeometricProgram p = program({{"i", 1e6}, {"j", 1e6}, {"k", 1e6}});
  term(p, 1e9, 0b001);
  term(p, 2e9, 0b010);
  term(p, 3e9, 0b100);
  term(p, 5e8, 0b100);
  ClosedForm f = closed_form(p, 1e6);
  CHECK(f.exact);
  CHECK(f.terms.back().beta == doctest::Approx(1. / 3));
  CHECK(f.terms.back().alpha == doctest::Approx(3 * std::cbrt(1e9 * 2e9 * 3.5e9)));
  // Six pairs of four axes: more terms than axes, exponent 2/4; alpha must not move with M.
  p = program({{"i", 1e6}, {"j", 1e6}, {"k", 1e6}, {"l", 1e6}});
  double a = 1e9;
  for (AxisSet lacks : {0b0011U, 0b0101U, 0b1001U, 0b0110U, 0b1010U, 0b1100U}) term(p, a *= 1.3, lacks);
  f = closed_form(p, 1e8);
  const ClosedForm larger = closed_form(p, 1e12);
  CHECK(f.exact);
  CHECK(f.terms.back().beta == doctest::Approx(0.5));
  CHECK(f.terms.back().alpha == doctest::Approx(larger.terms.back().alpha).epsilon(1e-10));
}

TEST_CASE("erratum P15: without a theorem the exponent drifts, the leading one is the game's value") {
  GeometricProgram p = program({{"i", 1e9}, {"j", 1e9}, {"k", 1e9}});
  for (AxisSet lacks : {0b001U, 0b010U, 0b100U, 0b011U}) term(p, 1, lacks);
  const ClosedForm small = closed_form(p, 1 << 8), large = closed_form(p, 1 << 20);
  CHECK_FALSE(small.exact);
  CHECK(small.terms.back().beta == doctest::Approx(1. / 3));
  CHECK(small.terms.back().alpha == doctest::Approx(3).epsilon(1e-6));
  CHECK(small.local_exponent > large.local_exponent);
  CHECK(large.local_exponent > 1. / 3);
  // The exponent that two measurements a decade of memory apart would show: 0.361, drifting to 0.335.
  const auto secant = [&](double memory) {
    return std::log10(closed_form(p, memory).transfer / closed_form(p, 10 * memory).transfer);
  };
  CHECK(std::round(1e3 * secant(10)) == 361);
  CHECK(std::round(1e3 * secant(1e5)) == 335);
  CHECK(small.transfer > sum_of(small, 1 << 8));
}

TEST_CASE("an axis that only shares others' savings stays at group size 1") {
  // {1} and {1,2}: every step of g_1 saves more than one of g_2.
  GeometricProgram p = program({{"i", 1e4}, {"j", 1e4}});
  term(p, 1e6, 0b01);
  term(p, 1e6, 0b11);
  const ClosedForm f = closed_form(p, 100);
  CHECK(f.group[0] == doctest::Approx(100));
  CHECK(f.group[1] == doctest::Approx(1));
  CHECK(f.terms.back().beta == doctest::Approx(1));
  CHECK(f.transfer == doctest::Approx(2e4));
}

TEST_CASE("a memory below one unit of group volume fits nothing; a bad programme is an error") {
  const ClosedForm f = closed_form(attention(1024, 1024, 64), 64);
  CHECK_FALSE(f.fits);
  CHECK(f.group[0] == 1);
  CHECK(closed_form(attention(1024, 1024, 64), 128).fits);
  CHECK_THROWS_AS((void)closed_form(GeometricProgram{}, 100), Error);
}

TEST_CASE("mixed precision: coefficients and y in bytes, nothing else changes") {
  GeometricProgram p = matmul(4096, 4096, 4096);
  for (ProgramTerm& t : p.terms) t.coefficient *= 2;
  p.resident = 4;  // fp32 accumulator
  const double memory = 232448;
  const double values = memory / 4;
  CHECK(closed_form(p, memory).transfer ==
        doctest::Approx(2 * (2 * std::pow(4096., 3) / std::sqrt(values) + 4096. * 4096)));
}

TEST_CASE("symbols: sums collect, factor and print") {
  const Product x = symbol(0, "x"), d = symbol(1, "d"), e = symbol(2, "dv");
  CHECK(print({x * d, x * d}) == "2 x d");
  CHECK(print(as_product({x * d, x * e})) == "x (d + dv)");
  CHECK(print(power(as_product({x * d, x * e}), 2)) == "x^2 (d + dv)^2");
  CHECK(print(x * power(d, -1)) == "x / d");
  CHECK(print(x * power(d, -1) * power(e, Exponent(-1, 2))) == "x / (d dv^(1/2))");
  CHECK(print(Product{0.5, {}}) == "0.5");
  CHECK(print(power(d, 0)) == "1");
  CHECK(print(std::vector<Product>{}) == "0");
  CHECK(as_fraction(2. / 3) == Exponent(2, 3));
  CHECK(as_fraction(-0.5) == Exponent(-1, 2));
  CHECK_FALSE(as_fraction(0.123456789));
}

}  // namespace test_geometric_program
