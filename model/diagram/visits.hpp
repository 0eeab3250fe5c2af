#pragma once
// visits() counts the chunks of the streamed axis that groups of rows visit under a mask: under a causal one, rows 128
// to 255 visit the first two chunks of 128 keys. Transfers, work and time are all computed from it.

#include "model/diagram/problem.hpp"

namespace napkin::internal {

/// Totals over all row groups of one (rows x columns) masked plane.
struct Visits {
  Count row_groups;  ///< ceil(rows / row_group)
  Count chunks;      ///< visited (row group, chunk) pairs
  Count columns;     ///< columns of the visited chunks, clipped to the array, summed over the row groups
  Count longest;     ///< most chunks that one row group visits
};

/// Returns the chunks [first, last) that the rows [row_first, row_last) visit.
[[nodiscard]] Span visited_chunks(const Mask& mask, std::int64_t row_first, std::int64_t row_last, std::int64_t rows,
                                  std::int64_t columns, std::int64_t chunk);

/// Counts visits in closed form, exactly. Throws Overflow.
[[nodiscard]] Visits visits(const Mask& mask, std::int64_t rows, std::int64_t columns, std::int64_t row_group,
                            std::int64_t chunk);

/// Counts visits with the roles exchanged: columns are grouped, rows are walked in chunks. `row_groups` then counts
/// column groups, `columns` visited rows.
[[nodiscard]] Visits visits_of_rows(const Mask& mask, std::int64_t rows, std::int64_t columns,
                                    std::int64_t column_group, std::int64_t chunk);

/// Returns the index pairs inside the visited chunks, clipped to the plane: sum over groups of (members x visited
/// indices). `streamed_rows`: as visits_of_rows. Throws Overflow.
[[nodiscard]] Count visited_pairs(const Mask& mask, std::int64_t rows, std::int64_t columns, std::int64_t group,
                                  std::int64_t chunk, bool streamed_rows = false);

/// Returns the visited indices of the streamed axis, summed over the groups of the other axis, if the stream is itself
/// split into groups of `stream_group`; weighted: times the members of the other group. Loops over the stream's groups
/// only if chunks do not divide them. Throws Overflow.
[[nodiscard]] Count visited_in_split(const Mask& mask, std::int64_t rows, std::int64_t columns, std::int64_t group,
                                     std::int64_t stream_group, std::int64_t chunk, bool streamed_rows, bool weighted);

}  // namespace napkin::internal
