#pragma once
// DeviceTime turns device memory's busy time into a launch's: 29 us of bytes take 33 us, since nothing comes until the
// first chunk has, nor while the last one is worked on, and a last wave of few blocks asks for less than there is.
// (model/README.md, eq. 15.5)

#include "model/clock/launch/launch.hpp"

namespace napkin::internal {

/// The shares of a launch's bytes that its waves of blocks load, and the clocks that a wave takes if memory is fast.
struct DeviceTime {
  double waves = 0;        ///< waves before the last, in which every node has all its blocks
  double share = 0;        ///< share of the bytes that such a wave loads
  double clocks = 0;       ///< clocks of such a wave's iterations if memory is fast
  double rest_share = 1;   ///< share of the last wave's blocks
  double rest_clocks = 0;  ///< clocks of its iterations if memory is fast
  double ends = 0;         ///< clocks beside the iterations, in which no bytes are loaded
  double last = 0;         ///< clocks more if the last wave waits for memory: its work on the last chunk

  /// Returns the launch's seconds at a clock if its bytes keep device memory busy for `busy` seconds.
  [[nodiscard]] double seconds(double busy, double clock) const;
  /// Returns true if the bytes of some wave take longer than its iterations, so that more bandwidth makes it shorter.
  [[nodiscard]] bool binds(double busy, double clock) const;
};

/// Divides a launch into waves, of `resident` blocks on each node. `first_chunk` is the clocks of its copy from the L2.
/// Blocks of different lengths count as one wave.
[[nodiscard]] DeviceTime device_time(const LaunchShape& shape, const LaunchClocks& clocks, const Period& period,
                                     BlockOrder order, double resident, double first_chunk);

/// Returns the bytes that device memory's pipe loses on rows of inputs: a chunk's row that is a part of the array's row
/// opens a page of memory for a few bytes, and counts as `device_row` bytes more.
[[nodiscard]] double bytes_beside_rows(const PlacedDiagram& placed);

}  // namespace napkin::internal
