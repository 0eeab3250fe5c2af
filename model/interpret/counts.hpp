#pragma once
// Counts has the numbers that a run counted: 16,384 values of K loaded into shared memory.

#include <string>
#include <vector>

#include "model/diagram/diagram.hpp"

namespace napkin::internal {

/// Values of one array that crossed the pipe between a level and its parent, over all groups.
struct ArrayCounts {
  Count loaded, stored;
  bool operator==(const ArrayCounts&) const = default;
};

/// Values moved and held at one level.
struct LevelCounts {
  std::string name;
  Count groups;                     ///< nodes that ran at this level
  std::vector<ArrayCounts> arrays;  ///< counts by ArrayId
  /// The most values that a node reserved in any column: a buffer counts as a full tile, even for a ragged one. Columns
  /// are the states between operations (model/README.md, "The two rules").
  Count peak;
  /// The most values that buffers really held: less than `peak` if only ragged tiles were visited.
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
  /// The launch that combines the partial results of split axes: parts in, whole results out. Empty without splits. It
  /// works row by row, so no peak is counted.
  LevelCounts combine;
};

/// The buffers of a node: those alive now, and the most that were alive in a column.
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

}  // namespace napkin::internal
