#pragma once
// A toy graph is a mapping's event graph with durations given by hand: scores take 10 clocks, the softmax 16.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "model/clock/graph/event_graph.hpp"

namespace napkin::internal::test {

using Durations = std::vector<std::pair<std::string, double>>;

/// Returns the mapping's graph with given durations of its stages, and copies of no duration.
inline EventGraph toy(const PlacedDiagram& placed, const Durations& stages) {
  EventGraph graph = event_graph(placed);
  for (EventNode& node : graph.nodes) {
    node.clocks = node.latency = node.serial = 0;
    std::fill(node.demand.begin(), node.demand.end(), 0.0);
    for (const auto& [name, clocks] : stages) {
      if (node.name == name) node.clocks = clocks;
    }
  }
  return graph;
}

}  // namespace napkin::internal::test
