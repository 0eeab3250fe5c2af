#pragma once
// cycle_ratio and busiest_pipe bound the steady cost of one iteration from below, with names. (model/README.md, "Time:
// the run")
//
//   cycle ratio   max over cycles of (clocks of its nodes and edges) / (tokens on it)      Howard's algorithm
//   busiest pipe  max over pipes of its work in one iteration of all instances; a pipe that loses a share beside the
//                 tensor unit: P - B + beside B >= W, so P >= W + (1 - beside) B, B the tensor unit's clocks

#include <string>
#include <vector>

#include "model/clock/graph/event_graph.hpp"

namespace napkin::internal {

struct CycleRatio {
  double clocks = 0;               ///< clocks an iteration; 0 if there is no cycle of waits
  std::vector<std::string> nodes;  ///< nodes of the critical cycle, in order: "P.max[0]", instance in brackets
};

/// Finds the cycle. Throws Error for a cycle without tokens that takes time.
[[nodiscard]] CycleRatio cycle_ratio(const EventGraph& graph);

/// Returns the clocks of the critical cycle over edges that also hold between blocks, a bound for searches.
[[nodiscard]] double cycle_clocks(const EventGraph& graph);

struct BusiestPipe {
  double clocks = 0;
  std::string name = "none";
  bool beside_tensor = false;  ///< true if the share beside the running tensor unit binds
};
[[nodiscard]] BusiestPipe busiest_pipe(const EventGraph& graph);

}  // namespace napkin::internal
