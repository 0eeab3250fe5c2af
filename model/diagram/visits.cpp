#include "model/diagram/visits.hpp"

#include <algorithm>

namespace napkin {

Span visited_chunks(const Mask& mask, std::int64_t row_first, std::int64_t row_last, std::int64_t rows,
                    std::int64_t columns, std::int64_t chunk) {
  const Span seen = visible(mask, row_first, row_last, rows, columns);
  if (seen.first >= seen.last) return {0, 0};
  return {seen.first / chunk, (seen.last - 1) / chunk + 1};
}

Visits visits(const Mask& mask, std::int64_t rows, std::int64_t columns, std::int64_t row_group, std::int64_t chunk) {
  Visits total;
  total.row_groups = ceil_div(rows, row_group);
  if (mask.kind == Mask::Kind::none) {
    total.longest = ceil_div(columns, chunk);
    total.chunks = total.row_groups * total.longest;
    total.columns = total.row_groups * Count(columns);
    return total;
  }
  for (std::int64_t first = 0; first < rows; first += row_group) {
    const std::int64_t last = std::min(first + std::min(row_group, rows - first), rows);
    const Span chunks = visited_chunks(mask, first, last, rows, columns, chunk);
    total.chunks += chunks.size();
    total.longest = std::max(total.longest, Count(chunks.size()));
    if (chunks.size() > 0) total.columns += std::min(chunks.last * chunk, columns) - chunks.first * chunk;
  }
  return total;
}

}  // namespace napkin
