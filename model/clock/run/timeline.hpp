#pragma once
// A Timeline holds when each event of an event graph runs, over a number of iterations. Copies and asynchronous tensor
// operations are served first come, first served; threads share the vector pipes max-min fair, at the rates that are
// left beside a running tensor operation.

#include <vector>

#include "model/clock/graph/event_graph.hpp"

namespace napkin::internal {

/// A node of an instance in an iteration. Times in clocks from the block's start.
struct TimelineSpan {
  int node = 0, instance = 0;
  int iteration = 0;  ///< iteration, counted through all blocks; for a head or tail node the block
  double start = 0, end = 0;
};

struct Timeline {
  double clocks = 0;                ///< clocks until the last node is done
  std::vector<TimelineSpan> spans;  ///< spans in order of their ends; empty unless asked for
};

/// Simulates so many blocks of so many iterations in a row, from a cold start to the last result. Throws Error for a
/// graph that cannot run (a cycle without tokens) and for numbers < 1.
[[nodiscard]] Timeline run(const EventGraph& graph, int iterations, int blocks = 1, bool keep_spans = false);

}  // namespace napkin::internal
