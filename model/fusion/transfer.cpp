// The first rule: an array moves once for every group of each grouped axis that it lacks. (eq. 2.4)

#include <algorithm>

#include "model/diagram/reindex.hpp"
#include "model/diagram/visits.hpp"
#include "model/fusion/partition.hpp"

namespace napkin::internal {
namespace {

TransferTerm term_of(const Streamed& s, ArrayId array, bool store) {
  TransferTerm term{array, store, {}, {}};
  for (std::size_t i = 0; i < s.roles.size(); ++i) {
    const auto axis = static_cast<AxisId>(i);
    if (!s.grouped(axis)) continue;
    (s.diagram.arrays[at(array)].has(axis) ? term.carried : term.lacking).push_back(axis);
  }
  return term;
}

/// Returns true if the term moves visited chunks only. An output that is no sum of partial results must be written
/// where the mask leaves zeros; a partial sum need not.
bool moves_visited_only(const Streamed& s, const TransferTerm& term, const Problem& problem) {
  if (!s.skips || problem.mask.kind == Mask::Kind::none) return false;
  if (!s.diagram.arrays[at(term.array)].has(*s.stream)) return false;
  const Combine* combine = s.combine_of(term.array);
  return !term.store || (combine != nullptr && combine->kind == Combine::Kind::sum);
}

/// Returns the pairs or indices of (other axis, stream) inside the visited chunks, over all groups of both axes.
Count visited(const Streamed& s, const TransferTerm& term, const Problem& problem, const Partition& partition) {
  const auto [row, column] = *s.skips;
  const bool streamed_rows = row == *s.stream;
  const AxisId other = streamed_rows ? column : row;
  return visited_in_split(problem.mask, problem.sizes[at(row)].get(), problem.sizes[at(column)].get(),
                          partition.group[at(other)].get(), partition.group[at(*s.stream)].get(), partition.chunk.get(),
                          streamed_rows, s.diagram.arrays[at(term.array)].has(other));
}

Count values_of(const Streamed& s, const TransferTerm& term, const Problem& problem, const Partition& partition) {
  const bool masked = moves_visited_only(s, term, problem);
  const auto in_mask = [&](AxisId axis) { return masked && (axis == (*s.skips)[0] || axis == (*s.skips)[1]); };
  Count product = masked ? visited(s, term, problem, partition) : Count(1);
  const Array& array = s.diagram.arrays[at(term.array)];
  for (AxisId a : array.axes) {
    if (!in_mask(a) && !is_shifted(array, a)) product *= problem.sizes[at(a)];
  }
  product *= shifted_values(
      array, problem.sizes, [&](AxisId a) { return partition.group[at(a)]; },
      [&](AxisId a) { return s.stream == a ? partition.chunk : partition.group[at(a)]; });
  for (AxisId a : term.lacking) {
    if (!in_mask(a)) product *= ceil_div(problem.sizes[at(a)], partition.group[at(a)]);
  }
  return product;
}

}  // namespace

std::vector<TransferTerm> transfer_terms(const Streamed& streamed) {
  std::vector<TransferTerm> terms;
  for (ArrayId in : streamed.diagram.inputs) terms.push_back(term_of(streamed, in, false));
  for (ArrayId out : streamed.diagram.outputs) terms.push_back(term_of(streamed, out, true));
  return terms;
}

Transfer transfer_per_group(const Streamed& streamed, const Partition& partition) {
  Transfer sum;
  for (const TransferTerm& term : transfer_terms(streamed)) {
    const Array& array = streamed.diagram.arrays[at(term.array)];
    const auto group = [&](AxisId a) { return partition.group[at(a)]; };
    const auto chunk = [&](AxisId a) { return streamed.stream == a ? partition.chunk : partition.group[at(a)]; };
    Count product = shifted_values_of_group(array, group, chunk);
    for (AxisId a : array.axes) product *= is_shifted(array, a) ? Count(1) : partition.group[at(a)];
    (term.store ? sum.store : sum.load) += Values(product);
  }
  return sum;
}

Values transfer_of(const Streamed& streamed, const TransferTerm& term, const Problem& problem,
                   const Partition& partition) {
  try {
    return Values(values_of(streamed, term, problem, partition));
  } catch (const Overflow&) {
    throw Overflow("the number of values moved of array " + streamed.diagram.arrays[at(term.array)].name);
  }
}

Transfer transfer(const Streamed& streamed, const Problem& problem, const Partition& partition) {
  Transfer sum;
  for (const TransferTerm& term : transfer_terms(streamed)) {
    (term.store ? sum.store : sum.load) += transfer_of(streamed, term, problem, partition);
  }
  return sum;
}

}  // namespace napkin::internal
