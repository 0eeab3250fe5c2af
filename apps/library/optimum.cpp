#include "apps/library/optimum.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "apps/library/least_transfer.hpp"
#include "model/diagram/reindex.hpp"
#include "solver/optimum/program.hpp"
#include "solver/optimum/report.hpp"

namespace napkin {
namespace {

constexpr int group_rank = 1000;  // group sizes print after the axes

std::string group_name(const Streamed& streamed, AxisId axis) {
  const bool streams = streamed.stream == axis && !streamed.grouped(axis);
  return (streams ? "s_" : "g_") + streamed.diagram.axes[static_cast<std::size_t>(axis)].name;
}

/// H of this level in axis names: every array once per group of each axis that it lacks.
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

/// Whether chunks of the streamed axis read rows that their neighbours read too.
bool overlapping_stream(const Streamed& streamed) {
  const auto& arrays = streamed.diagram.arrays;
  return streamed.stream && std::any_of(arrays.begin(), arrays.end(),
                                        [&](const Array& array) { return is_shifted(array, *streamed.stream); });
}

/// Whether chunks are left out that the formulas count: those hold for every pair.
bool leaves_chunks_out(const Streamed& streamed, const Problem& problem) {
  return streamed.skips && problem.mask.kind != Mask::Kind::none;
}

/// Whether some rows that the formulas count lie outside their array: the border of a convolution, which is not moved.
bool has_border(const Diagram& diagram, const Sizes& sizes) {
  const auto extent = [&](AxisId axis) { return sizes[static_cast<std::size_t>(axis)]; };
  return std::any_of(diagram.arrays.begin(), diagram.arrays.end(), [&](const Array& array) {
    return is_shifted(array) && values_read(array, sizes) < part_of(array, extent);
  });
}

/// What a formula counts beyond what is moved.
std::string_view counted_beside(const Streamed& streamed, const Problem& problem) {
  if (leaves_chunks_out(streamed, problem)) return " of all pairs";
  return has_border(streamed.diagram, problem.sizes) ? " with the rows of the border" : "";
}

/// Sizes of the tile at the level where a block lives, by position in grouped_axes().
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

/// `problem` with some axes' groups given: they leave the search, and their numbers of groups go into the coefficients.
struct Pinned {
  IntegerProblem problem;
  std::vector<std::size_t> kept;  // position in the whole problem, by position in this one

  Pinned(const IntegerProblem& whole, const std::vector<Count>& given) {
    for (std::size_t i = 0; i < whole.axes.size(); ++i) {
      if (given[i] == Count(0)) kept.push_back(i);
    }
    for (const std::size_t i : kept) problem.axes.push_back(whole.axes[i]);
    for (const IntegerTerm& term : whole.terms) problem.terms.push_back(reduced(whole, term, given));
    problem.memory = [memory = whole.memory, given, positions = kept](std::span<const Count> group, Count chunk) {
      std::vector<Count> all = given;
      for (std::size_t i = 0; i < positions.size(); ++i) all[positions[i]] = group[i];
      return memory(all, chunk);
    };
    problem.limit = whole.limit;
    problem.chunks = whole.chunks;
  }

 private:
  [[nodiscard]] IntegerTerm reduced(const IntegerProblem& whole, const IntegerTerm& term,
                                    const std::vector<Count>& given) const {
    IntegerTerm result{term.coefficient, 0};
    for (std::size_t i = 0; i < given.size(); ++i) {
      const bool lacks = (term.lacks >> i & 1U) != 0;
      if (lacks && given[i] != Count(0)) result.coefficient *= ceil_div(whole.axes[i].size, given[i]);
    }
    for (std::size_t i = 0; i < kept.size(); ++i) result.lacks |= (term.lacks >> kept[i] & 1U) << i;
    return result;
  }
};

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

/// In values; streams 1, no divisors, memory_lower_bound <= VALUES.
OptimumAnswer abstract_optimum(const Request& request, const Layout& layout) {
  const OptimumReport report = optimum_of(*layout.streamed, layout.problem, Values(Count(*request.ask.memory)));
  std::optional<OptimumAnswer::Integer> integer;
  if (report.integer) {
    integer = {report.integer->transfer.value.get(), {}};
    for (const auto& [axis, size] : report.integer->group) integer->group.emplace_back(axis, size.get());
  }
  if (integer && has_border(layout.streamed->diagram, layout.problem.sizes))
    integer->transfer = moved_by(request, layout, integer->group);
  OptimumAnswer answer{terms_of(report.terms), report.transfer, report.group, integer,
                       report.formula.optimum + std::string(counted_beside(*layout.streamed, layout.problem))};
  answer.exact = gives(answer.terms, static_cast<double>(*request.ask.memory), report.transfer);
  return answer;
}

/// In bytes, with `limit` bytes where a block lives; in whole numbers under all constraints.
OptimumAnswer machine_optimum(const Request& request, const Layout& layout, std::int64_t limit) {
  std::vector<double> weight;
  for (const Array& array : layout.streamed->diagram.arrays)
    weight.push_back(bytes_per_value(array.type.value_or(layout.problem.dtype)));
  const GeometricProgram program = program_of(*layout.streamed, layout.problem, weight);
  const ClosedForm form = closed_form(program, static_cast<double>(limit));
  const auto least = [request, layout] { return at_shape([&] { return least_transfer(request, layout); }); };
  OptimumAnswer answer{terms_of(form.terms),
                       form.transfer,
                       {},
                       Later<std::optional<OptimumAnswer::Integer>>(least),
                       form.formula + std::string(counted_beside(*layout.streamed, layout.problem))};
  answer.exact = gives(answer.terms, static_cast<double>(limit), form.transfer);
  for (std::size_t i = 0; i < program.axes.size(); ++i) answer.group.emplace_back(program.axes[i].name, form.group[i]);
  return answer;
}

/// What formula and optimum are worked out from, when they are asked for.
struct Kept {
  Request request;
  Layout layout;
  std::vector<Count> groups;  // of the tile, where a block lives
  Count chunk;
  std::optional<std::int64_t> limit;  // of memory there, bytes

  [[nodiscard]] const Packing& packing() const { return layout.problem.packing; }
  [[nodiscard]] bool packed() const { return !packing().sequences.empty(); }
};

FormulaAnswer formula_of(const Kept& kept) {
  const Streamed& streamed = *kept.layout.streamed;
  Problem problem = kept.layout.problem;
  if (kept.packed()) problem.sizes[static_cast<std::size_t>(kept.packing().batch)] = 1;  // of one sequence
  // Chunks that overlap read some rows twice, so H depends on the chunk too: the formula is of chunks of 1.
  const bool of_chunks = overlapping_stream(streamed) && kept.chunk != Count(1);
  FormulaAnswer out;
  out.transfer = of_chunks ? "with " + group_name(streamed, *streamed.stream) + " = 1: " : "";
  out.transfer +=
      (kept.packed() ? "sum over sequences of " : "") + transfer_formula(streamed, program_of(streamed, problem));
  out.transfer += counted_beside(streamed, problem);
  out.memory =
      print(MemoryRule(streamed, kept.layout.problem.sizes, ColumnView::drawn).largest(kept.groups, kept.chunk));
  return out;
}

std::optional<OptimumAnswer> least_of(const Kept& kept) {
  if (kept.packed()) return std::nullopt;  // the closed form is of one length
  if (kept.request.abstract()) return abstract_optimum(kept.request, kept.layout);
  if (!kept.limit) return std::nullopt;
  return machine_optimum(kept.request, kept.layout, *kept.limit);
}

}  // namespace

void add_optimum(const Request& request, const Layout& layout, const PlacedDiagram& placed, QueryAnswer& answer) {
  const auto kept = std::make_shared<Kept>(
      Kept{request, layout, groups_in(*layout.streamed, placed), placed.block().chunk, std::nullopt});
  const std::string& home = request.machine->levels[static_cast<std::size_t>(placed.block().level)].name;
  for (const LevelAnswer& level : answer.levels) {
    if (level.name == home) kept->limit = level.memory_limit;
  }
  const bool exchanges = placed.combine && (placed.combine->by == CombineMapping::By::turns ||
                                            placed.combine->by == CombineMapping::By::barriers);
  if (!exchanges)  // what groups exchange is no array of the diagram
    answer.formula = Later<FormulaAnswer>([kept] { return at_shape([&] { return formula_of(*kept); }); });
  answer.optimum = Later<std::optional<OptimumAnswer>>([kept] { return at_shape([&] { return least_of(*kept); }); });
}

NamedSizes integer_groups(const Request& request, const Streamed& streamed, const NamedSizes& fixed) {
  const Diagram& diagram = streamed.diagram;
  const std::vector<AxisId> axes = grouped_axes(streamed);
  IntegerProblem problem = integer_problem_of(streamed, request.problem, Values(Count(*request.ask.memory)));
  NamedSizes sizes;
  if (streamed.stream && !streamed.grouped(*streamed.stream)) {
    const std::string& name = diagram.axes[static_cast<std::size_t>(*streamed.stream)].name;
    sizes.emplace_back(name, size_or(fixed, name, 1));
    problem.chunks = {Count(sizes.back().second)};
  }
  std::vector<Count> given;
  for (const AxisId axis : axes)
    given.emplace_back(size_or(fixed, diagram.axes[static_cast<std::size_t>(axis)].name, 0));
  const Pinned pinned(problem, given);
  const auto optimum = integer_optimum(pinned.problem);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    Count group = given[i] == Count(0) ? Count(1) : given[i];
    for (std::size_t k = 0; k < pinned.kept.size(); ++k) {
      if (pinned.kept[k] == i && optimum) group = std::min(optimum->group[k], request.problem.sizes[axis]);
    }
    sizes.emplace_back(diagram.axes[axis].name, group.get());
  }
  return sizes;
}

}  // namespace napkin
