#include "apps/library/optimum.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "apps/library/measure.hpp"
#include "solver/optimum/program.hpp"
#include "solver/optimum/report.hpp"
#include "solver/select/select.hpp"

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

/// A knob that sizes an axis where a block lives.
struct AxisKnob {
  KnobId knob = 0;
  std::string axis;
};

/// The chunk of the stream matters only where a mask leaves chunks out.
std::vector<AxisKnob> axis_knobs(const Subject& subject, const Layout& layout) {
  const bool masked = subject.problem.mask.kind != Mask::Kind::none;
  std::vector<AxisKnob> knobs;
  for (std::size_t i = 0; i < layout.mapping.knobs.size(); ++i) {
    const auto axis = layout.streamed.diagram.find_axis(layout.mapping.knobs[i].name);
    if (axis && (layout.streamed.grouped(*axis) || (masked && layout.streamed.stream == *axis)))
      knobs.push_back({static_cast<KnobId>(i), layout.mapping.knobs[i].name});
  }
  return knobs;
}

const std::vector<std::int64_t>& domain_of(const Layout& layout, const AxisKnob& knob) {
  return layout.mapping.knobs[static_cast<std::size_t>(knob.knob)].domain;
}

/// Sizes of the axes' knobs, and what they move at the level where a block lives.
struct Combination {
  Count transfer;
  std::vector<std::int64_t> values;
};

Count moved_home(const PlacedDiagram& placed) {
  for (const LevelTransfer& level : transfers(placed)) {
    if (level.level == placed.block().level) return level.transfer().value;
  }
  return 0;
}

/// Every combination of the axes' knobs, least transfer first.
std::vector<Combination> combinations(const Subject& subject, const Layout& layout,
                                      const std::vector<AxisKnob>& knobs) {
  const Placer placer(layout.streamed, layout.mapping, subject.machine, subject.problem);
  Tile tile;
  for (const Knob& knob : layout.mapping.knobs) tile.values.push_back(knob.domain.front());
  std::vector<Combination> all;
  std::vector<std::size_t> digits(knobs.size(), 0);
  PlacedDiagram placed;
  for (bool more = true; more;) {
    Combination combination;
    for (std::size_t i = 0; i < knobs.size(); ++i) {
      combination.values.push_back(domain_of(layout, knobs[i])[digits[i]]);
      tile.values[static_cast<std::size_t>(knobs[i].knob)] = combination.values.back();
    }
    placer.place(tile, placed);
    combination.transfer = moved_home(placed);
    all.push_back(std::move(combination));
    more = false;
    for (std::size_t i = 0; i < knobs.size() && !more; ++i) {
      more = ++digits[i] < domain_of(layout, knobs[i]).size();
      if (!more) digits[i] = 0;
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.transfer < b.transfer; });
  return all;
}

/// Of all legal tiles the least transfer at the level where a block lives. Transfers depend on the axes' knobs alone,
/// so their combinations are tried from the least transfer up until one has a legal tile.
std::optional<OptimumAnswer::Integer> least_legal(const Subject& subject, const Layout& layout) {
  const std::vector<AxisKnob> knobs = axis_knobs(subject, layout);
  Question question = question_of(subject, layout);
  for (const Combination& combination : combinations(subject, layout, knobs)) {
    question.fixed.clear();
    for (std::size_t i = 0; i < knobs.size(); ++i) question.fixed.emplace_back(knobs[i].knob, combination.values[i]);
    if (select(question, 1).ranked.empty()) continue;
    OptimumAnswer::Integer answer{combination.transfer.get(), {}};
    for (std::size_t i = 0; i < knobs.size(); ++i) answer.group.emplace_back(knobs[i].axis, combination.values[i]);
    return answer;
  }
  return std::nullopt;
}

std::vector<OptimumAnswer::Term> terms_of(const std::vector<PowerTerm>& powers) {
  std::vector<OptimumAnswer::Term> terms;
  for (const PowerTerm& power : powers) terms.push_back({power.alpha, power.beta});
  return terms;
}

/// In values; streams 1, no divisors, memory_lower_bound <= VALUES.
OptimumAnswer abstract_optimum(const Subject& subject, const Layout& layout) {
  const OptimumReport report = optimum_of(layout.streamed, subject.problem, Values(Count(*subject.ask.memory)));
  OptimumAnswer answer{terms_of(report.terms), report.transfer, report.group, std::nullopt, report.formula.optimum};
  if (report.integer) {
    answer.integer = {report.integer->transfer.value.get(), {}};
    for (const auto& [axis, size] : report.integer->group) answer.integer->group.emplace_back(axis, size.get());
  }
  return answer;
}

/// In bytes, with `limit` bytes where a block lives; in whole numbers under all constraints.
OptimumAnswer machine_optimum(const Subject& subject, const Layout& layout, std::int64_t limit) {
  const std::vector<double> weight(layout.streamed.diagram.arrays.size(), bytes_per_value(subject.problem.dtype));
  const GeometricProgram program = program_of(layout.streamed, subject.problem, weight);
  const ClosedForm form = closed_form(program, static_cast<double>(limit));
  OptimumAnswer answer{terms_of(form.terms), form.transfer, {}, least_legal(subject, layout), form.formula};
  for (std::size_t i = 0; i < program.axes.size(); ++i) answer.group.emplace_back(program.axes[i].name, form.group[i]);
  return answer;
}

}  // namespace

void add_optimum(const Subject& subject, const Layout& layout, const PlacedDiagram& placed, QueryAnswer& answer) {
  const Streamed& streamed = layout.streamed;
  const Packing& packing = subject.problem.packing;
  const bool packed = !packing.sequences.empty();
  Problem problem = subject.problem;
  if (packed) problem.sizes[static_cast<std::size_t>(packing.batch)] = 1;  // the formula of one sequence
  const GeometricProgram program = program_of(streamed, problem);
  const std::vector<Count> groups = groups_in(streamed, placed);
  const bool exchanges = placed.combine && (placed.combine->by == CombineMapping::By::turns ||
                                            placed.combine->by == CombineMapping::By::barriers);
  if (!exchanges) {  // what groups exchange is no array of the diagram
    answer.formula.transfer = (packed ? "sum over sequences of " : "") + transfer_formula(streamed, program);
    answer.formula.memory =
        print(MemoryRule(streamed, subject.problem.sizes, ColumnView::drawn).largest(groups, placed.block().chunk));
  }

  if (packed) return;  // the closed form is of one length
  if (subject.abstract()) {
    answer.optimum = abstract_optimum(subject, layout);
    return;
  }
  const std::string& home = subject.machine.levels[static_cast<std::size_t>(placed.block().level)].name;
  for (const LevelAnswer& level : answer.levels) {
    if (level.name == home && level.memory_limit)
      answer.optimum = machine_optimum(subject, layout, *level.memory_limit);
  }
}

NamedSizes integer_groups(const Subject& subject, const Streamed& streamed, const NamedSizes& fixed) {
  const Diagram& diagram = streamed.diagram;
  const std::vector<AxisId> axes = grouped_axes(streamed);
  IntegerProblem problem = integer_problem_of(streamed, subject.problem, Values(Count(*subject.ask.memory)));
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
      if (pinned.kept[k] == i && optimum) group = std::min(optimum->group[k], subject.problem.sizes[axis]);
    }
    sizes.emplace_back(diagram.axes[axis].name, group.get());
  }
  return sizes;
}

}  // namespace napkin
