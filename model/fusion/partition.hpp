#pragma once
// A Partition gives labels numbers: the group and stream sizes of one abstract level, and the paper's two rules on it,
// in values. (model/README.md, "The two rules"; exact integers, ceilings where groups are ragged)

#include <string>
#include <utility>
#include <vector>

#include "model/diagram/problem.hpp"
#include "model/fusion/streamed.hpp"

namespace napkin {

/// Sizes of one group at a level, by AxisId: the group size of a grouped axis, the chunk of the streamed axis, else the
/// full size.
struct Partition {
  std::vector<Count> group;  ///< g of grouped axes, full size of all others (h of eq. 1.2)
  Count chunk = 1;           ///< s of the streamed axis
};

/// The partition with the given sizes by axis name, {"q", 12}, {"x", 4}: a grouped axis takes it as its group, the
/// streamed axis as its chunk (a split axis that streams: as its group, chunk 1). Grouped axes that are not named have
/// groups of 1, the streamed axis chunks of 1. Sizes beyond the axis are cut to it. Throws Error at `where`.
[[nodiscard]] Partition make_partition(const Streamed& streamed, const Sizes& sizes,
                                       const std::vector<std::pair<std::string, std::int64_t>>& given,
                                       const std::string& where);

/// Groups of all grouped axes: N = prod ceil(a/g). Throws Overflow. (eq. 2.3)
[[nodiscard]] Count group_count(const Streamed& streamed, const Sizes& sizes, const Partition& partition);

/// Values that one full group holds of something with these axes: chunk on the streamed axis (m of eq. 1.1).
[[nodiscard]] Values held(const Streamed& streamed, const std::vector<AxisId>& axes, const Partition& partition);
/// Values of an array, with the rows between those that a shifted dimension reads.
[[nodiscard]] Values held(const Streamed& streamed, const Array& array, const Partition& partition);
/// The tables of an input: what has to be there when it is loaded.
[[nodiscard]] std::vector<ArrayId> tables_of(const Array& array);

// Memory ------------------------------------------------------------------------------------------------------------

/// Which of the two memories of model/README.md, "The two rules" a column belongs to.
enum class ColumnView {
  drawn,  ///< the wires between two operations; maintained outputs at the stream input column only (Fig. 18, 21)
  live,   ///< all that is still needed: persistent inputs, maintained arrays, auxiliaries, and the wires (erratum P14)
};

/// What stands between two operations of head, loop or tail.
struct Column {
  Phase phase = Phase::loop;
  std::optional<OpId> after;  ///< the operation on its left; nothing: the input column of the phase
  std::vector<ArrayId> arrays;
  std::vector<int> auxiliaries;  ///< indices into Streamed::auxiliaries
};

/// All columns, left to right. They depend on no size.
[[nodiscard]] std::vector<Column> columns(const Streamed& streamed, ColumnView view);
/// Values of one column in one full group. Throws Overflow.
[[nodiscard]] Values column_size(const Streamed& streamed, const Column& column, const Partition& partition);
/// The largest column, in values a group: memory_lower_bound (drawn) or memory_live (live). Throws Overflow.
[[nodiscard]] Values memory(const Streamed& streamed, const Partition& partition, ColumnView view);
[[nodiscard]] Values memory_lower_bound(const Streamed& streamed, const Partition& partition);
[[nodiscard]] Values memory_live(const Streamed& streamed, const Partition& partition);

// Transfer ----------------------------------------------------------------------------------------------------------

/// One array that changes colour: inputs are loaded, outputs stored, once for every group of each axis that they lack.
struct TransferTerm {
  ArrayId array = 0;
  bool store = false;
  std::vector<AxisId> carried;  ///< grouped axes that the array has (I_t)
  std::vector<AxisId> lacking;  ///< grouped axes that it has not (J_t)
};

/// Values moved between the level and its parent.
struct Transfer {
  Values load, store;
  [[nodiscard]] Values total() const { return load + store; }
  bool operator==(const Transfer&) const = default;
};

[[nodiscard]] std::vector<TransferTerm> transfer_terms(const Streamed& streamed);
/// Of one full group that sees every chunk: prod h(z) of each term. Throws Overflow. (eq. 2.1)
[[nodiscard]] Transfer transfer_per_group(const Streamed& streamed, const Partition& partition);
/// One term, all groups: c_t prod_{I_t} a prod_{J_t} ceil(a/g). Where Streamed::skips holds, loads of arrays that carry
/// the stream count visited chunks only, clipped to the array; stores likewise where they are partial results (others
/// must be written, if only with zeros). Exact; no loop over groups. Throws Overflow.
[[nodiscard]] Values transfer_of(const Streamed& streamed, const TransferTerm& term, const Problem& problem,
                                 const Partition& partition);
/// All terms, all groups. (eq. 2.4)
[[nodiscard]] Transfer transfer(const Streamed& streamed, const Problem& problem, const Partition& partition);

}  // namespace napkin
