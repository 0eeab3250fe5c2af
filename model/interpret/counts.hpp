#pragma once
// Counts are what an execution counted while it ran: 16,384 values of K loaded into shared memory.

#include <string>
#include <vector>

#include "model/diagram/diagram.hpp"

namespace napkin {

/// Values that crossed the pipe between a level and its parent, of one array, all groups.
struct ArrayCounts {
  Count loaded, stored;
  bool operator==(const ArrayCounts&) const = default;
};

/// Values moved and held at one level.
struct LevelCounts {
  std::string name;
  Count groups;                     ///< nodes that ran at this level
  std::vector<ArrayCounts> arrays;  ///< counts by ArrayId
  /// Most values that one node had reserved in any column: a buffer is as large as the full tile, as in a kernel, also
  /// where a ragged one stands in it. Columns are the states between operations (model/README.md, "The two rules").
  Count peak;
  /// The peak of the values that really stood in the buffers: less than `peak` where only ragged tiles were visited.
  Count peak_held;

  [[nodiscard]] Count loaded() const {
    Count sum;
    for (const ArrayCounts& a : arrays) sum += a.loaded;
    return sum;
  }
  [[nodiscard]] Count stored() const {
    Count sum;
    for (const ArrayCounts& a : arrays) sum += a.stored;
    return sum;
  }
};

struct Counts {
  std::vector<LevelCounts> levels;  ///< top to bottom
  /// The launch that combines the partial results of split axes: all partial results in, the whole ones out. Without
  /// splits nothing moves in it. It works row by row, so no peak is counted.
  LevelCounts combine;
};

/// The buffers of one node: what is alive now, and the most that was alive in a column.
class Meter {
 public:
  void allocate(Count reserved, Count held) {
    reserved_ += reserved;
    held_ += held;
  }
  void release(Count reserved, Count held) {
    reserved_ -= reserved;
    held_ -= held;
  }
  /// Records a column: the arrays alive between two operations.
  void column(LevelCounts& level) const {
    if (level.peak < reserved_) level.peak = reserved_;
    if (level.peak_held < held_) level.peak_held = held_;
  }

 private:
  Count reserved_, held_;
};

}  // namespace napkin
