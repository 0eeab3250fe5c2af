// predicted_time() returns the seconds of predict() for a tile with so many blocks on a node.
#pragma once

#include "model/clock/run/period.hpp"
#include "model/clock/time_model.hpp"

namespace napkin::internal::test {

inline Seconds predicted_time(const PlacedDiagram& placed, Count blocks_per_node) {
  Periods periods;
  const TimeModel model(placed, ByClock::graph);
  if (!model.by_graph) return model.with_launch(model.of(placed, blocks_per_node));
  const EventGraph graph = event_graph(placed);
  return model.with_launch(model.of(placed, blocks_per_node, graph, periods.of(graph)));
}

}  // namespace napkin::internal::test
