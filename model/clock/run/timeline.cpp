#include "model/clock/run/timeline.hpp"

#include "model/clock/run/simulation.hpp"

namespace napkin::internal {

Timeline run(const EventGraph& graph, int iterations, int blocks, bool keep_spans) {
  return Simulation(graph).whole(iterations, blocks, keep_spans);
}

}  // namespace napkin::internal
