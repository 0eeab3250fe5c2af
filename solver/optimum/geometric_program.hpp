#pragma once
// closed_form finds the optimal transfers H*(a, M) of any derived diagram as a geometric programme, in its closed form:
// 4 q x d^2 / M of attention. (eq. 6.1 to eq. 6.3; errata P13, P15, P16, L1, L2, L3)
//
//   H* = min_g  sum_t A_t prod_{i in J_t} g_i^-1     s.t.  y prod_i g_i <= M,   1 <= g_i <= a_i
//
//   t   transferred arrays            A_t  values moved when every group size is 1 (the array once per group)
//   J_t grouped axes array t lacks    y    values resident per unit of group volume: of all arrays, not only the output

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/base/quantity.hpp"
#include "model/diagram/problem.hpp"
#include "model/fusion/streamed.hpp"
#include "solver/optimum/symbol.hpp"

namespace napkin::internal {

/// A set of positions in GeometricProgram::axes.
using AxisSet = std::uint64_t;

struct ProgramAxis {
  std::string name;
  AxisId axis = 0;
  double size = 1;
  Product symbol;       ///< the name; empty (1) for an axis of size 1 by default
  bool limited = true;  ///< true if g_i counts in the memory limit; false: it costs no memory, so g_i = a_i
};

struct ProgramTerm {
  ArrayId array = 0;
  double coefficient = 0;  ///< weighted coefficient A_t
  AxisSet lacks = 0;       ///< J_t
  Product symbol;          ///< A_t in axis names
};

struct GeometricProgram {
  std::vector<ProgramAxis> axes;  ///< the grouped axes, in the diagram's order; at most 64
  std::vector<ProgramTerm> terms;
  double resident = 1;  ///< y, weighted; 0 for no memory limit
  Product resident_symbol;
};

/// A power of the memory: alpha(a) * M^-beta.
struct PowerTerm {
  double alpha = 0;
  double beta = 0;
  std::optional<Product> symbol;  ///< alpha M^-beta in axis names, if it is a single product
  std::string text;               ///< the power as text; a number if it has no symbol
};

/// The upper limits of group sizes: those of the axes, or none (the textbook form, eq. 1).
enum class Box { axes, none };

struct ClosedForm {
  bool fits = false;  ///< false if the memory is below y, so that group sizes are 1
  /// True if transfer = sum alpha M^-beta while the same limits bind (theorem (ii) or (iii)); false if the last term is
  /// only the leading one, exact for M -> infinity (theorem (iv), erratum P15).
  bool exact = true;
  std::vector<PowerTerm> terms;  ///< terms by ascending beta, each beta once; beta = 0 first if present
  double transfer = 0;           ///< H* of the real-valued programme, whether or not the terms are exact
  std::vector<double> group;     ///< optimal g by program axis
  double local_exponent = 0;     ///< -d ln(non-constant part) / d ln M at the optimum
  std::string formula;           ///< "2 q d + 4 q x d^2 / M"
};

/// Returns the minimum and its closed form at `memory` (in the unit of y). Axes at a limit are clamped and the rest
/// solved again: matmul a^2 b c / M + b c + a c. The axis declared last takes the largest share of equal optima. Throws
/// Error for an empty programme or more than 64 axes.
[[nodiscard]] ClosedForm closed_form(const GeometricProgram& program, double memory, Box box = Box::axes);

/// Evaluates the objective: H of given real group sizes.
[[nodiscard]] double transfer_at(const GeometricProgram& program, const std::vector<double>& group);

}  // namespace napkin::internal
