#pragma once
// These functions return programmes written by hand from model/README.md, "Worked results (leading order)", for tests
// that must not depend on a derivation.

#include <cmath>
#include <string>
#include <vector>

#include "solver/optimum/geometric_program.hpp"
#include "solver/optimum/integer.hpp"

namespace napkin::internal::test {

inline GeometricProgram program(const std::vector<std::pair<std::string, double>>& axes) {
  GeometricProgram p;
  int rank = 0;
  for (const auto& [name, size] : axes) {
    p.axes.push_back({name, rank, size, symbol(rank, name)});
    ++rank;
  }
  return p;
}

inline void term(GeometricProgram& p, double coefficient, AxisSet lacks, Product named = {}) {
  p.terms.push_back({static_cast<ArrayId>(p.terms.size()), coefficient, lacks, std::move(named)});
}

/// Makes the programme of (a x b)(b x c): axes 0 = a, 1 = c; b is streamed.
inline GeometricProgram matmul(double a, double b, double c) {
  GeometricProgram p = program({{"a", a}, {"c", c}});
  const Product na = symbol(0, "a"), nb = symbol(1, "b"), nc = symbol(2, "c");
  p.axes[1].symbol = nc;
  term(p, a * b * c, 0b10, na * nb * nc);
  term(p, a * b * c, 0b01, na * nb * nc);
  term(p, a * c, 0, na * nc);
  return p;
}

/// Makes the programme of attention with one head: axis 0 = q; x is streamed; y = 2 d (Q and O, erratum P13).
inline GeometricProgram attention(double q, double x, double d) {
  GeometricProgram p = program({{"q", q}});
  const Product nq = symbol(0, "q"), nx = symbol(1, "x"), nd = symbol(2, "d");
  for (int i = 0; i < 2; ++i) term(p, q * d, 0, nq * nd);
  for (int i = 0; i < 2; ++i) term(p, q * x * d, 0b1, nq * nx * nd);
  p.resident = 2 * d;
  p.resident_symbol = Product{2, {}} * nd;
  return p;
}

/// Makes the programme of attention in which g query heads share K and V: axes 0 = g, 1 = q.
inline GeometricProgram grouped_query(double g, double q, double x, double d) {
  GeometricProgram p = program({{"g", g}, {"q", q}});
  const Product ng = symbol(0, "g"), nq = symbol(1, "q"), nx = symbol(2, "x"), nd = symbol(3, "d");
  for (int i = 0; i < 2; ++i) term(p, g * q * d, 0, ng * nq * nd);
  for (int i = 0; i < 2; ++i) term(p, g * q * x * d, 0b11, ng * nq * nx * nd);
  p.resident = 2 * d;
  p.resident_symbol = Product{2, {}} * nd;
  return p;
}

/// Makes the integer problem of matmul with memory  g_a g_c + g_a s + s g_c.
inline IntegerProblem matmul_integer(Count a, Count b, Count c, Count memory) {
  IntegerProblem p;
  p.axes = {{a}, {c}};
  p.terms = {{a * b, 0b10}, {b * c, 0b01}, {a * c, 0}};
  p.memory = [](std::span<const Count> g, Count s) { return g[0] * g[1] + g[0] * s + s * g[1]; };
  p.limit = memory;
  return p;
}

}  // namespace napkin::internal::test
