#pragma once
// A Small is an event graph made by hand, for tests of the functions that run graphs.

#include <string>

#include "model/clock/graph/event_graph.hpp"

namespace napkin::internal::test {

/// A graph of thread nodes of one agent instance each, which share no pipe.
struct Small {
  EventGraph graph;
  Small() { graph.pipes = {{"tensor", 1}, {"issue", 1}}; }
  int add(const std::string& name, double clocks, NodeKind kind = NodeKind::thread) {
    graph.nodes.push_back({name, kind, Phase::loop, 0, clocks, 0, {0, 0}});
    graph.instances.push_back(1);
    return static_cast<int>(graph.nodes.size()) - 1;
  }
  void edge(int from, int to, int delay = 0) { graph.edges.push_back({from, to, delay}); }
};

}  // namespace napkin::internal::test
