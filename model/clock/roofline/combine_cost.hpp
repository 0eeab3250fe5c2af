#pragma once
// synchronisation() is what it costs that groups of a split axis wait for each other: a second launch that adds up
// eight parts of the keys, or the turns of a chain of blocks. (model/README.md, "Time: the roofline")

#include "model/base/quantity.hpp"
#include "model/mapping/placed.hpp"

namespace napkin {

/// Nothing of it overlaps with the groups' own work: it lies behind their loops.
struct Synchronisation {
  Count steps;        ///< turns of one chain, barriers that a group passes, launches, or sums by one node's last blocks
  double clocks = 0;  ///< turns: one chain; barriers: those of one group; launch: what the second moves, its latency;
                      ///< last: what the busiest node's blocks wait for and move
  Seconds launch;     ///< of the second launch
  bool known = true;  ///< false: the profile leaves out a latency on the way, which counts as 0
};

/// The pipe over which blocks of a cluster exchange parts; nullptr where they do not.
[[nodiscard]] const Pipe* exchange_pipe(const PlacedDiagram& placed);

/// Zero where no result has parts, or where they are added without waiting. A turn or a barrier is one signal stored
/// where the parts meet and seen from another block: twice the latency of the pipes in between; a turn also moves one
/// block's part both ways at a node's rate. Chains of turns run side by side. `last`: a block waits until its part is
/// seen and for its number among those that came, twice the latency; the last one then reads all parts of its result.
[[nodiscard]] Synchronisation synchronisation(const PlacedDiagram& placed, Hertz clock);

}  // namespace napkin
