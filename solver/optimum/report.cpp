#include "solver/optimum/report.hpp"

#include <algorithm>

namespace napkin::internal {
namespace {

/// Returns the masked axis that is grouped: its groups see different chunks, so H is no product of counts along it.
std::optional<std::size_t> masked_axis(const Streamed& s, const Problem& problem, const std::vector<AxisId>& grouped) {
  if (!s.skips || problem.mask.kind == Mask::Kind::none) return std::nullopt;
  for (std::size_t i = 0; i < grouped.size(); ++i) {
    if (grouped[i] == (*s.skips)[0] || grouped[i] == (*s.skips)[1]) return i;
  }
  return std::nullopt;
}

/// Returns the problem without the masked axis, if that is grouped, which has one size here: the terms carry the
/// visited chunks, and the rest is an ordinary problem.
IntegerProblem fixed_problem(const Streamed& s, const Problem& problem, const IntegerProblem& limits,
                             const std::vector<AxisId>& grouped, std::optional<std::size_t> masked, Count size,
                             Count chunk) {
  IntegerProblem p;
  for (std::size_t i = 0; i < grouped.size(); ++i) {
    if (i != masked) p.axes.push_back(limits.axes[i]);
  }
  Partition whole{problem.sizes, chunk};
  if (masked) whole.group[at(grouped[*masked])] = size;
  const std::vector<TransferTerm> terms = transfer_terms(s);
  for (std::size_t t = 0; t < terms.size(); ++t) {
    const std::uint64_t below = masked ? (std::uint64_t{1} << *masked) - 1 : ~std::uint64_t{0};
    const std::uint64_t set = limits.terms[t].lacks;
    p.terms.push_back({transfer_of(s, terms[t], problem, whole).value, (set & below) | ((set >> 1) & ~below)});
  }
  p.memory = [&limits, masked, size](std::span<const Count> group, Count s_chunk) {
    std::vector<Count> all(group.begin(), group.end());
    if (masked) all.insert(all.begin() + static_cast<std::ptrdiff_t>(*masked), size);
    return limits.memory(all, s_chunk);
  };
  p.limit = limits.limit;
  p.chunks = {chunk};
  return p;
}

std::optional<IntegerOptimum> masked_optimum(const Streamed& s, const Problem& problem, const IntegerProblem& limits,
                                             const std::vector<AxisId>& grouped, std::size_t masked) {
  const IntegerAxis& axis = limits.axes[masked];
  std::optional<IntegerOptimum> best;
  for (Count chunk : limits.chunks) {
    std::int64_t tried = 0;
    std::vector<Count> smallest(limits.axes.size(), 1);
    for (std::size_t i = 0; i < smallest.size(); ++i)
      smallest[i] = limits.axes[i].fixed.value_or(limits.axes[i].multiple);
    const Count largest = axis.fixed.value_or(round_up(axis.size, axis.multiple));
    const Count step = axis.fixed.value_or(axis.multiple);
    for (Count size = largest; size >= step; size -= step) {
      smallest[masked] = size;
      if ((axis.divides && axis.size % size != 0) || limits.memory(smallest, chunk) > limits.limit) continue;
      if (++tried > 65536) break;
      auto found = integer_optimum(fixed_problem(s, problem, limits, grouped, masked, size, chunk));
      if (!found || (best && found->transfer >= best->transfer)) continue;
      best = std::move(found);
      best->group.insert(best->group.begin() + static_cast<std::ptrdiff_t>(masked), size);
    }
  }
  return best;
}

std::string labelled_transfer(const GeometricProgram& program) {
  std::vector<Product> sum;
  for (const ProgramTerm& t : program.terms) {
    Product p = t.symbol;
    for (std::size_t i = 0; i < program.axes.size(); ++i) {
      const ProgramAxis& axis = program.axes[i];
      if (((t.lacks >> i) & 1U) != 0 && !axis.symbol.factors.empty()) p = p * symbol(axis.axis, "g_" + axis.name, -1);
    }
    sum.push_back(std::move(p));
  }
  return print(sum);
}

}  // namespace

std::optional<IntegerOptimum> integer_optimum_of(const Streamed& streamed, const Problem& problem,
                                                 const IntegerProblem& limits) {
  const std::vector<AxisId> grouped = grouped_axes(streamed);
  const auto masked = masked_axis(streamed, problem, grouped);
  if (masked) return masked_optimum(streamed, problem, limits, grouped, *masked);
  if (!streamed.skips || problem.mask.kind == Mask::Kind::none) return integer_optimum(limits);
  std::optional<IntegerOptimum> best;
  for (const Count chunk : limits.chunks) {
    auto found = integer_optimum(fixed_problem(streamed, problem, limits, grouped, std::nullopt, 0, chunk));
    if (found && (!best || found->transfer < best->transfer)) best = std::move(found);
  }
  return best;
}

OptimumReport optimum_of(const Streamed& streamed, const Problem& problem, Values memory) {
  const GeometricProgram program = program_of(streamed, problem, {}, Border::left_out);
  const double values = static_cast<double>(memory.value);
  ClosedForm closed = closed_form(program, values);
  OptimumReport report;
  report.textbook = closed_form(program, values, Box::none);
  report.terms = std::move(closed.terms);
  report.exact = closed.exact;
  report.transfer = closed.transfer;
  for (std::size_t i = 0; i < program.axes.size(); ++i)
    report.group.emplace_back(program.axes[i].name, closed.group[i]);

  const IntegerProblem exact = integer_problem_of(streamed, problem, memory);
  std::vector<Count> shown(program.axes.size(), 1);
  if (const auto best = integer_optimum_of(streamed, problem, exact)) {
    report.fits = true;
    IntegerReport integer{Values(best->transfer), {}, best->chunk, Values(best->memory)};
    for (std::size_t i = 0; i < program.axes.size(); ++i) {
      integer.group.emplace_back(program.axes[i].name, best->group[i]);
    }
    shown = best->group;
    if (problem.mask.kind == Mask::Kind::none) report.ratio = static_cast<double>(best->transfer) / closed.transfer;
    report.integer = std::move(integer);
  }
  report.formula.optimum = closed.formula;
  report.formula.transfer = labelled_transfer(program_of(streamed, problem));
  report.formula.memory = print(MemoryRule(streamed, problem.sizes, ColumnView::drawn).largest(shown, 1));
  return report;
}

}  // namespace napkin::internal
