#include "solver/optimum/sharing.hpp"

#include <algorithm>
#include <cmath>

namespace napkin::internal {
namespace {

constexpr int most_halvings = 100;
constexpr double close = 1e-9;

/// Returns the memory that holds the work of all groups at once.
double memory_of_all(const GeometricProgram& program) {
  double memory = std::max(program.resident, 1.0);
  for (const ProgramAxis& axis : program.axes) {
    if (axis.limited) memory *= axis.size;
  }
  return memory;
}

}  // namespace

double groups_at(const GeometricProgram& program, double memory) {
  const ClosedForm form = closed_form(program, memory);
  double groups = 1;
  for (std::size_t i = 0; i < program.axes.size(); ++i) groups *= program.axes[i].size / form.group[i];
  return groups;
}

Sharing sharing(const GeometricProgram& program, double memory, double nodes) {
  const double all = memory_of_all(program);
  double most = std::min(memory, all);
  if (groups_at(program, most) < nodes) {
    double least = most / nodes / 2;
    while (groups_at(program, least) < nodes && least > program.resident) least /= 2;
    for (int i = 0; i < most_halvings && most > least * (1 + close); ++i) {
      const double middle = std::sqrt(least * most);
      (groups_at(program, middle) < nodes ? most : least) = middle;
    }
  }
  return {most, closed_form(program, most).transfer, closed_form(program, std::min(nodes * most, all)).transfer};
}

}  // namespace napkin::internal
