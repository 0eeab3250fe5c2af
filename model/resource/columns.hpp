#pragma once
// column_memories() and moved_by_crossings() return memory by column and transfers by array, as a picture of the placed
// diagram shows them: shared memory holds 112 KiB in the column after the scores, and K alone brings 1.1 GB into it.
// memories() returns the largest of the former, transfers() the sums of the latter.

#include <vector>

#include "model/fusion/partition.hpp"
#include "model/resource/resources.hpp"

namespace napkin::internal {

struct ColumnMemory {
  Column column;
  std::vector<Bytes> held;  ///< bytes of a block, by PlacedDiagram::levels
};

/// Returns each level's memory in each column. The largest of a level is its lower_bound (drawn) or live memory.
[[nodiscard]] std::vector<ColumnMemory> column_memories(const PlacedDiagram& placed, ColumnView view);

/// Returns each crossing's bytes, all groups together, in the order of PlacedDiagram::crossings. A level's sum is
/// transfers(), except for parts of node shares (cut_bytes).
[[nodiscard]] std::vector<Bytes> moved_by_crossings(const PlacedDiagram& placed);

}  // namespace napkin::internal
