#pragma once
// A Partition gives labels numbers: the group and stream sizes of one abstract level, and the paper's two rules on it,
// in values. (model/README.md, "The two rules"; exact integers, ceilings where groups are ragged)

#include <string>
#include <utility>
#include <vector>

#include "model/diagram/problem.hpp"
#include "model/fusion/streamed.hpp"

namespace napkin::internal {

/// Sizes of one group at a level, by AxisId: the group size of a grouped axis, the chunk of the streamed axis, else the
/// full size.
struct Partition {
  std::vector<Count> group;  ///< g of grouped axes, full size of all others (h of eq. 1.2)
  Count chunk = 1;           ///< s of the streamed axis
};

/// Makes a partition from sizes by axis name: {"q", 12} sets a grouped axis's group, {"x", 4} the stream's chunk (for a
/// split axis that streams its group, chunk 1). Others are 1. Sizes are cut to the axis. Throws Error at `where`.
[[nodiscard]] Partition make_partition(const Streamed& streamed, const Sizes& sizes,
                                       const std::vector<std::pair<std::string, std::int64_t>>& given,
                                       const std::string& where);

/// Returns the number of groups of all grouped axes: N = prod ceil(a/g). Throws Overflow. (eq. 2.3)
[[nodiscard]] Count group_count(const Streamed& streamed, const Sizes& sizes, const Partition& partition);

/// Returns the values with these axes that a full group holds: a chunk along the streamed axis (m of eq. 1.1).
[[nodiscard]] Values held(const Streamed& streamed, const std::vector<AxisId>& axes, const Partition& partition);
/// Returns the values of an array that a full group holds, with the rows between those that a shifted dimension reads.
[[nodiscard]] Values held(const Streamed& streamed, const Array& array, const Partition& partition);
/// Returns the tables of an input, which must be present when it is loaded.
[[nodiscard]] std::vector<ArrayId> tables_of(const Array& array);

// Memory ------------------------------------------------------------------------------------------------------------

/// The arrays that a column counts; model/README.md, "The two rules", has both ways.
enum class ColumnView {
  drawn,  ///< wires between two operations; maintained outputs at the stream input column only (Fig. 18, 21)
  live,   ///< all values still needed: persistent inputs, maintained arrays, auxiliaries, and the wires (erratum P14)
};

/// The arrays alive between two operations of head, loop or tail.
struct Column {
  Phase phase = Phase::loop;
  std::optional<OpId> after;  ///< operation on its left; none: the input column of the phase
  std::vector<ArrayId> arrays;
  std::vector<int> auxiliaries;  ///< indices into Streamed::auxiliaries
};

/// Returns all columns, left to right. They depend on no size.
[[nodiscard]] std::vector<Column> columns(const Streamed& streamed, ColumnView view);
/// Returns the values of one column in one full group. Throws Overflow.
[[nodiscard]] Values column_size(const Streamed& streamed, const Column& column, const Partition& partition);
/// Returns the largest column, in values a group: memory_lower_bound (drawn) or memory_live (live). Throws Overflow.
[[nodiscard]] Values memory(const Streamed& streamed, const Partition& partition, ColumnView view);
[[nodiscard]] Values memory_lower_bound(const Streamed& streamed, const Partition& partition);
[[nodiscard]] Values memory_live(const Streamed& streamed, const Partition& partition);

// Transfer ----------------------------------------------------------------------------------------------------------

/// A transfer of an array: inputs are loaded, outputs stored, once for every group of each axis that they lack.
struct TransferTerm {
  ArrayId array = 0;
  bool store = false;
  std::vector<AxisId> carried;  ///< grouped axes that the array has (I_t)
  std::vector<AxisId> lacking;  ///< grouped axes that the array lacks (J_t)
};

/// Values moved between the level and its parent.
struct Transfer {
  Values load, store;
  [[nodiscard]] Values total() const { return load + store; }
  bool operator==(const Transfer&) const = default;
};

[[nodiscard]] std::vector<TransferTerm> transfer_terms(const Streamed& streamed);
/// Returns the transfer of a full group that sees every chunk: prod h(z) of each term. Throws Overflow. (eq. 2.1)
[[nodiscard]] Transfer transfer_per_group(const Streamed& streamed, const Partition& partition);
/// Returns a term over all groups: c_t prod_{I_t} a prod_{J_t} ceil(a/g). If Streamed::skips holds, loads that carry
/// the stream count visited chunks only, clipped to the array, and so do stores of partial results. Exact, without a
/// loop over groups. Throws Overflow.
[[nodiscard]] Values transfer_of(const Streamed& streamed, const TransferTerm& term, const Problem& problem,
                                 const Partition& partition);
/// Returns all terms over all groups. (eq. 2.4)
[[nodiscard]] Transfer transfer(const Streamed& streamed, const Problem& problem, const Partition& partition);

}  // namespace napkin::internal
