#pragma once
// synchronisation() returns the time that groups of a split axis take to combine their parts: a second launch that adds
// up eight parts of the keys, or the turns of a chain of blocks. (model/README.md, "Time: the roofline")

#include "model/base/quantity.hpp"
#include "model/mapping/placed.hpp"

namespace napkin::internal {

/// The time to combine parts of results. It follows the groups' loops and overlaps with none of their work.
struct Synchronisation {
  Count steps;        ///< turns of one chain, barriers that a group passes, launches, or sums by one node's last blocks
  double clocks = 0;  ///< clocks of a chain of turns, of a group's barriers, of the second launch's bytes and latency,
                      ///< or (last) of the busiest node's waits and moves
  Seconds launch;     ///< time of the second launch
  bool known = true;  ///< false if the profile lacks a latency on the way, which then counts as 0
};

/// Returns the pipe over which blocks of a cluster exchange parts; nullptr if they exchange none.
[[nodiscard]] const Pipe* exchange_pipe(const PlacedDiagram& placed);

/// Returns the cost of combining parts (model/README.md, "Combining partial results"); zero if no result has parts, or
/// if they are added without waiting. Chains of turns run in parallel.
[[nodiscard]] Synchronisation synchronisation(const PlacedDiagram& placed, Hertz clock);

}  // namespace napkin::internal
