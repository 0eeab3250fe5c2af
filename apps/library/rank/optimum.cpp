#include "apps/library/rank/optimum.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "apps/library/rank/least_transfer.hpp"
#include "model/diagram/reindex.hpp"
#include "solver/optimum/program.hpp"
#include "solver/optimum/report.hpp"

namespace napkin::internal {
namespace {

constexpr int group_rank = 1000;  // group sizes print after the axes

std::string group_name(const Streamed& streamed, AxisId axis) {
  const bool streams = streamed.stream == axis && !streamed.grouped(axis);
  return (streams ? "s_" : "g_") + streamed.diagram.axes[static_cast<std::size_t>(axis)].name;
}

/// Writes H of this level in axis names: every array once per group of each axis that it lacks.
std::string transfer_formula(const Streamed& streamed, const GeometricProgram& program) {
  std::vector<Product> sum;
  for (const ProgramTerm& term : program.terms) {
    Product product = term.symbol;
    for (std::size_t i = 0; i < program.axes.size(); ++i) {
      if ((term.lacks >> i & 1U) == 0 || program.axes[i].symbol.factors.empty()) continue;
      const AxisId axis = program.axes[i].axis;
      product = product * symbol(group_rank + axis, group_name(streamed, axis), Exponent(-1));
    }
    sum.push_back(std::move(product));
  }
  return print(collect(sum));
}

/// Returns true if neighbouring chunks of the streamed axis read some rows in common.
bool overlapping_stream(const Streamed& streamed) {
  const auto& arrays = streamed.diagram.arrays;
  return streamed.stream && std::any_of(arrays.begin(), arrays.end(),
                                        [&](const Array& array) { return is_shifted(array, *streamed.stream); });
}

/// Returns true if some chunks are left out; the formulas count every pair.
bool leaves_chunks_out(const Streamed& streamed, const Problem& problem) {
  return streamed.skips && problem.mask.kind != Mask::Kind::none;
}

/// Returns true if some rows that the formulas count lie outside their array, such as a convolution's border, and are
/// not moved.
bool has_border(const Diagram& diagram, const Sizes& sizes) {
  const auto extent = [&](AxisId axis) { return sizes[static_cast<std::size_t>(axis)]; };
  return std::any_of(diagram.arrays.begin(), diagram.arrays.end(), [&](const Array& array) {
    return is_shifted(array) && values_read(array, sizes) < part_of(array, extent);
  });
}

/// Names what a formula counts beyond the bytes moved.
std::string_view counted_beside(const Streamed& streamed, const Problem& problem) {
  return leaves_chunks_out(streamed, problem) ? " of all pairs" : "";
}

/// Returns the tile's sizes at a block's level, by position in grouped_axes().
std::vector<Count> groups_in(const Streamed& streamed, const PlacedDiagram& placed) {
  std::vector<Count> groups;
  for (const AxisId axis : grouped_axes(streamed)) {
    const auto i = static_cast<std::size_t>(axis);
    groups.push_back(std::min(placed.block().extent[i], placed.problem->sizes[i]));
  }
  return groups;
}

std::int64_t size_or(const NamedSizes& sizes, const std::string& name, std::int64_t otherwise) {
  for (const auto& [axis, size] : sizes) {
    if (axis == name) return size;
  }
  return otherwise;
}

std::vector<OptimumAnswer::Term> terms_of(const std::vector<PowerTerm>& powers) {
  std::vector<OptimumAnswer::Term> terms;
  for (const PowerTerm& power : powers) terms.push_back({power.alpha, power.beta});
  return terms;
}

bool gives(const std::vector<OptimumAnswer::Term>& terms, double memory, double transfer) {
  constexpr double rounding = 1e-6;
  double sum = 0;
  for (const OptimumAnswer::Term& term : terms) sum += term.alpha * std::pow(memory, -term.beta);
  return std::abs(sum - transfer) <= rounding * transfer;
}

/// Finds the least transfer in values on the abstract machine: chunks of 1, any whole group sizes whose
/// memory_lower_bound is at most `memory`.
OptimumAnswer abstract_optimum(std::int64_t memory, const Setup& setup) {
  const OptimumReport report = optimum_of(*setup.streamed, setup.problem, Values(Count(memory)));
  std::optional<OptimumAnswer::Integer> integer;
  if (report.integer) {
    integer = {report.integer->transfer.value.get(), {}};
    for (const auto& [axis, size] : report.integer->group) integer->group.emplace_back(axis, size.get());
  }
  const auto& arrays = setup.streamed->diagram.arrays;
  const bool shifted = std::any_of(arrays.begin(), arrays.end(), [](const Array& array) { return is_shifted(array); });
  if (integer && shifted)  // rows at the ends of the arrays are missing in the closed form: they are counted
    integer->transfer = moved_by(setup, integer->group);
  OptimumAnswer answer{terms_of(report.terms), report.transfer, report.group, integer,
                       report.formula.optimum + std::string(counted_beside(*setup.streamed, setup.problem))};
  answer.exact = gives(answer.terms, static_cast<double>(memory), report.transfer);
  return answer;
}

/// Finds the least transfer in bytes, with `limit` bytes at the block's level: in closed form, and in whole numbers
/// under all rules of the kernel.
OptimumAnswer machine_optimum(const Setup& setup, std::int64_t limit) {
  const GeometricProgram program = program_of(
      *setup.streamed, setup.problem, value_bytes(setup.streamed->diagram, setup.problem.dtype), Border::left_out);
  const ClosedForm form = closed_form(program, static_cast<double>(limit));
  OptimumAnswer answer{terms_of(form.terms),
                       form.transfer,
                       {},
                       least_transfer(setup),
                       form.formula + std::string(counted_beside(*setup.streamed, setup.problem))};
  answer.exact = gives(answer.terms, static_cast<double>(limit), form.transfer);
  for (std::size_t i = 0; i < program.axes.size(); ++i) answer.group.emplace_back(program.axes[i].name, form.group[i]);
  return answer;
}

/// The inputs of formula and optimum.
struct LeastOf {
  std::optional<std::int64_t> memory;  // values that the abstract machine's memory holds
  const Setup& setup;
  std::vector<Count> groups;  // sizes of the tile at the block's level
  Count chunk;
  std::optional<std::int64_t> limit;  // bytes of memory at the block's level

  [[nodiscard]] const Packing& packing() const { return setup.problem.packing; }
  [[nodiscard]] bool packed() const { return !packing().sequences.empty(); }
};

FormulaAnswer formula_of(const LeastOf& of) {
  const Streamed& streamed = *of.setup.streamed;
  Problem problem = of.setup.problem;
  if (of.packed()) problem.sizes[static_cast<std::size_t>(of.packing().batch)] = 1;  // sizes of one sequence
  // Chunks that overlap read some rows twice, so H depends on the chunk too: the formula is of chunks of 1.
  const bool of_chunks = overlapping_stream(streamed) && of.chunk != Count(1);
  FormulaAnswer out;
  out.transfer = of_chunks ? "with " + group_name(streamed, *streamed.stream) + " = 1: " : "";
  out.transfer +=
      (of.packed() ? "sum over sequences of " : "") + transfer_formula(streamed, program_of(streamed, problem));
  out.transfer += counted_beside(streamed, problem);
  if (!leaves_chunks_out(streamed, problem) && has_border(streamed.diagram, problem.sizes))
    out.transfer += " with the rows of the border";
  out.memory = print(MemoryRule(streamed, of.setup.problem.sizes, ColumnView::drawn).largest(of.groups, of.chunk));
  return out;
}

std::optional<OptimumAnswer> least_of(const LeastOf& of) {
  if (of.packed()) return std::nullopt;  // the closed form is of one length
  if (of.memory) return abstract_optimum(*of.memory, of.setup);
  if (!of.limit) return std::nullopt;
  return machine_optimum(of.setup, *of.limit);
}

}  // namespace

void add_optimum(const Question& question, const Setup& setup, const PlacedDiagram& placed, QueryAnswer& answer) {
  LeastOf of{question.ask.memory, setup, groups_in(*setup.streamed, placed), placed.block().chunk, std::nullopt};
  const std::string& home = question.machine->levels[static_cast<std::size_t>(placed.block().level)].name;
  for (const LevelAnswer& level : answer.levels) {
    if (level.name == home) of.limit = level.memory_limit;
  }
  const bool exchanges = placed.combine && (placed.combine->by == CombineMapping::By::turns ||
                                            placed.combine->by == CombineMapping::By::barriers);
  if (!exchanges) answer.formula = formula_of(of);  // the data that groups exchange are no array of the diagram
  answer.optimum = least_of(of);
}

NamedSizes integer_groups(const Question& question, const Streamed& streamed, const NamedSizes& fixed) {
  const Diagram& diagram = streamed.diagram;
  const std::vector<AxisId> axes = grouped_axes(streamed);
  IntegerProblem problem = integer_problem_of(streamed, question.problem, Values(Count(*question.ask.memory)));
  NamedSizes sizes;
  if (streamed.stream && !streamed.grouped(*streamed.stream)) {
    const std::string& name = diagram.axes[static_cast<std::size_t>(*streamed.stream)].name;
    sizes.emplace_back(name, size_or(fixed, name, 1));
    problem.chunks = {Count(sizes.back().second)};
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t given = size_or(fixed, diagram.axes[static_cast<std::size_t>(axes[i])].name, 0);
    if (given > 0) problem.axes[i].fixed = given;
  }
  const auto optimum = integer_optimum_of(streamed, question.problem, problem);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    Count group = problem.axes[i].fixed.value_or(1);
    if (optimum && !problem.axes[i].fixed) group = std::min(optimum->group[i], question.problem.sizes[axis]);
    sizes.emplace_back(diagram.axes[axis].name, group.get());
  }
  return sizes;
}

}  // namespace napkin::internal
