#pragma once
// Which chunks of the streamed axis a group of rows visits under a mask: the one place that knows, for transfers, work
// and time alike. (design section 5, masks by tiles actually visited)

#include "model/diagram/problem.hpp"

namespace napkin {

/// Totals over all row groups of one (rows x columns) masked plane.
struct Visits {
  Count row_groups;  ///< ceil(rows / row_group)
  Count chunks;      ///< visited (row group, chunk) pairs
  Count columns;     ///< columns of the visited chunks, clipped to the array, summed over the row groups
  Count longest;     ///< most chunks that one row group visits
};

/// The chunks [first, last) that the rows [row_first, row_last) visit.
[[nodiscard]] Span visited_chunks(const Mask& mask, std::int64_t row_first, std::int64_t row_last, std::int64_t rows,
                                  std::int64_t columns, std::int64_t chunk);

/// Exact; O(rows / row_group) where a mask is set, O(1) without. Throws Overflow.
[[nodiscard]] Visits visits(const Mask& mask, std::int64_t rows, std::int64_t columns, std::int64_t row_group,
                            std::int64_t chunk);

}  // namespace napkin
