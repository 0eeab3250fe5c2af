#pragma once
// The steady cost of one iteration: two bounds with names, and the number. (design section 2; model/README.md 12)
//
//   cycle ratio   max over cycles of (clocks of its nodes and edges) / (tokens on it)      Howard's algorithm
//   busiest pipe  max over pipes of its work in one iteration of all instances; a pipe that loses a share beside the
//                 tensor unit: P - B + beside B >= W, so P >= W + (1 - beside) B, B the tensor unit's clocks
//   period        of a first-come-first-served run of the same graph, never below the bounds; the rest is contention

#include <string>
#include <vector>

#include "model/clock/event_graph.hpp"

namespace napkin {

struct CycleRatio {
  double clocks = 0;               ///< 0 where nothing waits for itself
  std::vector<std::string> nodes;  ///< of the critical cycle, in order: "P.max[0]", instance in brackets
};

/// Throws Error for a cycle without tokens that takes time.
[[nodiscard]] CycleRatio cycle_ratio(const EventGraph& graph);

struct BusiestPipe {
  double clocks = 0;
  std::string name = "none";
  bool beside_tensor = false;  ///< what binds is the share that the running tensor unit leaves it
};
[[nodiscard]] BusiestPipe busiest_pipe(const EventGraph& graph);

struct Period {
  double clocks = 0;
  double first = 0;  ///< clocks of a first block beyond its iterations: filling and draining from a cold start
  double next = 0;   ///< the same of a block that follows another on the same node, whose end it overlaps
  CycleRatio cycle;
  BusiestPipe pipe;
  int settled = 1;        ///< iterations from which on a block's goes on at the period
  double contention = 0;  ///< clocks - the larger bound: instances meet on pipes with no order between them
};

/// Not explained: without the critical cycle, and the contention over the busiest pipe alone; what a search compares.
[[nodiscard]] Period period(const EventGraph& graph, bool explained = true);

/// Clocks of one block with so many iterations: alone, from its first copy's start to its last result, and what one
/// more block takes behind others. Run as they are up to the length that period() measures, with its period from there
/// on.
struct BlockClocks {
  double first = 0, next = 0;
};
[[nodiscard]] BlockClocks block_clocks(const EventGraph& graph, const Period& period, double iterations);

}  // namespace napkin
