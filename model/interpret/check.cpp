#include "model/interpret/check.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "model/diagram/reindex.hpp"

namespace napkin::internal {
namespace {

/// Returns the size that the axis is cut into: its group, or its chunk.
Count step_of(const Streamed& s, const Partition& p, AxisId axis) {
  const Count group = p.group[at(axis)];
  return s.stream == axis && s.roles[at(axis)] == AxisRole::stream ? std::min(p.chunk, group) : group;
}

/// Returns a size of at most `groups` steps, of which the last is as ragged as in `size`.
Count shortened(Count size, Count step, Count groups) {
  if (ceil_div(size, step) <= groups) return size;
  const Count rest = size % step;
  return (groups - (rest == 0 ? 0 : 1)) * step + rest;
}

/// Lengthens the shorter axis of a mask step by step until rows <= columns, or rows >= columns, as in the problem.
void keep_order(const Streamed& s, const Problem& problem, const Partition& p, Sizes& sizes) {
  for (const auto& [row, column] : mask_axes(s.diagram)) {
    const bool wide = problem.sizes[at(column)] >= problem.sizes[at(row)];
    const AxisId small = wide ? row : column, large = wide ? column : row;
    while (sizes[at(large)] < sizes[at(small)]) {
      sizes[at(large)] = std::min(sizes[at(large)] + step_of(s, p, large), problem.sizes[at(large)]);
    }
  }
}

/// Estimates the work in multiply-adds; a value that is moved and mapped counts as fifty.
double work_of(const Diagram& d, const Sizes& sizes) {
  constexpr double each_value = 50;
  double sum = 0;
  for (const Array& array : d.arrays) {
    double values = each_value;
    for (AxisId a : array.axes) values *= static_cast<double>(sizes[at(a)]);
    sum += values;
  }
  for (const Operation& op : d.operations) {
    double product = 1;
    for (std::size_t a = 0; a < sizes.size(); ++a) {
      const auto axis = static_cast<AxisId>(a);
      bool carried = d.arrays[at(op.outputs[0])].has(axis);
      for (ArrayId in : op.inputs) carried = carried || d.arrays[at(in)].has(axis);
      if (carried) product *= static_cast<double>(sizes[a]);
    }
    sum += product;
  }
  return sum;
}

/// Lengthens an axis that reads rows from a later place on ("n: y - 512") until it reaches them, if that is not too
/// much work.
void keep_in_reach(const Streamed& s, const Problem& problem, const Partition& p, double most_work, Sizes& sizes) {
  for (const Array& array : s.diagram.arrays) {
    for (const Reindex& dimension : array.reindexed) {
      const auto size = [&](AxisId axis) { return sizes[at(axis)]; };
      if (dimension.table || reach(array, dimension, size) + Count(dimension.offset) > Count(0)) continue;
      const AxisId axis = array.axes[dimension.first];
      Sizes longer = sizes;
      longer[at(axis)] = std::min(
          round_up(ceil_div(Count(1 - dimension.offset), dimension.strides.front()) + Count(1), step_of(s, p, axis)),
          problem.sizes[at(axis)]);
      if (work_of(s.diagram, longer) <= most_work) sizes = longer;
    }
  }
}

/// Halves the largest axis, with its group, its chunk and all sizes in a fixed ratio to them.
void halve_largest(const Streamed& s, Problem& problem, Partition& p) {
  const auto largest = std::max_element(problem.sizes.begin(), problem.sizes.end());
  const auto i = static_cast<std::size_t>(largest - problem.sizes.begin());
  const auto half = [](Count n) { return ceil_div(n, 2); };
  problem.sizes[i] = half(problem.sizes[i]);
  p.group[i] = s.grouped(static_cast<AxisId>(i)) ? std::min(half(p.group[i]), problem.sizes[i]) : problem.sizes[i];
  if (s.stream == static_cast<AxisId>(i)) p.chunk = std::min(half(p.chunk), p.group[i]);
}

/// Sets the groups of axes that are not grouped to the whole axis.
void whole_again(const Streamed& s, const Sizes& sizes, Partition& p) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!s.grouped(static_cast<AxisId>(i))) p.group[i] = sizes[i];
  }
}

/// Scales the rows of an array that is read through a shifted dimension or a table with the axes that read it.
void scale_rows(const Streamed& s, const Problem& problem, Problem& small) {
  for (const Array& array : s.diagram.arrays) {
    for (const Reindex& dimension : array.reindexed) {
      const bool own = std::none_of(s.diagram.arrays.begin(), s.diagram.arrays.end(),
                                    [&](const Array& other) { return other.has(dimension.of); });
      if (!own) continue;
      const Count now = rows_by_default(s.diagram, array, dimension, small.sizes),
                  before = rows_by_default(s.diagram, array, dimension, problem.sizes),
                  rows = problem.sizes[at(dimension.of)];
      small.sizes[at(dimension.of)] =
          dimension.table ? std::min(rows, now) : std::max(std::min(rows, rows - before + now), Count(1));
    }
  }
}

/// Scales a window and a prefix with the columns.
void scale_mask(const Streamed& s, const Problem& problem, Problem& small) {
  const auto pairs = mask_axes(s.diagram);
  if (pairs.empty()) return;
  const std::size_t column = at(pairs[0][1]);
  const double ratio = static_cast<double>(small.sizes[column]) / static_cast<double>(problem.sizes[column]);
  const auto scaled = [&](std::int64_t reach) {
    const double shorter = std::ceil(static_cast<double>(reach) * ratio);
    return static_cast<std::int64_t>(std::min(shorter, static_cast<double>(small.sizes[column])));
  };
  small.mask.left = scaled(problem.mask.left);
  small.mask.right = scaled(problem.mask.right);
}

/// Returns the largest difference over all outputs.
double farthest(const Tensors& expected, const Tensors& found) {
  double apart = 0;
  for (const auto& [name, tensor] : expected) apart = std::max(apart, difference(tensor, found.at(name)));
  return apart;
}

}  // namespace

std::pair<Problem, Partition> scaled_down(const Streamed& streamed, const Problem& problem, const Partition& partition,
                                          const CheckLimits& limits) {
  Problem small = problem;
  Partition p = partition;
  for (std::size_t i = 0; i < small.sizes.size(); ++i) {
    const auto axis = static_cast<AxisId>(i);
    if (!streamed.grouped(axis) && streamed.stream != axis) continue;
    small.sizes[i] = shortened(problem.sizes[i], step_of(streamed, p, axis), limits.groups);
  }
  keep_order(streamed, problem, p, small.sizes);
  whole_again(streamed, small.sizes, p);
  while (work_of(streamed.diagram, small.sizes) > limits.work) halve_largest(streamed, small, p);
  keep_order(streamed, problem, p, small.sizes);
  keep_in_reach(streamed, problem, p, limits.work, small.sizes);
  scale_rows(streamed, problem, small);
  whole_again(streamed, small.sizes, p);
  scale_mask(streamed, problem, small);
  return {small, p};
}

CheckResult check(const Streamed& streamed, const Problem& problem, const Partition& partition,
                  const CheckLimits& limits, const PartsOf& parts) {
  CheckResult result;
  std::tie(result.problem, result.partition) = scaled_down(streamed, problem, partition, limits);
  const Tensors inputs = random_inputs(streamed.diagram, result.problem.sizes, 1);
  const Run unfused = run_unfused(streamed.diagram, result.problem, inputs);
  RunOptions options;
  options.progress = limits.progress;
  Run run = run_streamed(streamed, result.problem, result.partition, inputs, options);
  result.counts = std::move(run.counts);
  double apart = farthest(unfused.outputs, run.outputs), top = 0;
  if (parts) {
    options.program = program_of(streamed, parts);
    run = run_streamed(streamed, result.problem, result.partition, inputs, options);
    apart = std::max(apart, farthest(unfused.outputs, run.outputs));
  }
  for (const auto& [name, tensor] : unfused.outputs) top = std::max(top, largest(tensor));
  result.output_error = apart == 0 ? 0 : apart / std::max(top, 1e-300);
  result.outputs_agree = result.output_error <= 1e-12;
  return result;
}

}  // namespace napkin::internal
