// A graph as the simulation runs it: a vertex for each agent instance of a node, arcs between vertices for each edge.
#include <algorithm>

#include "model/clock/run/simulation.hpp"

namespace napkin::internal {

void Simulation::turn_to(const EventGraph& graph) {
  g_ = &graph;
  vertices_.clear();
  nodes_.clear();
  demands_.clear();
  first_.clear();
  arcs_.clear();
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const EventNode& node = graph.nodes[n];
    first_.push_back(static_cast<int>(vertices_.size()));
    for (int i = 0; i < graph.instances[n]; ++i)
      vertices_.push_back({node.kind,
                           node.phase == Phase::loop,
                           static_cast<int>(n),
                           i,
                           {},
                           node.clocks,
                           std::max(-node.latency, 0.0),
                           0,
                           0});
    add_node(node, false);
  }
  for (Vertex& v : vertices_) {
    const EventNode& node = graph.node(v.id);
    v.queue = static_cast<std::size_t>(queue_of(node));
    v.late = node.first_latency;
    if (v.kind == NodeKind::tensor) v.each = node.clocks / node.instructions;
    if (node.cut_clocks <= 0) continue;
    if (v.instance == 0) add_node(node, true);
    v.cut = static_cast<int>(nodes_.size()) - 1;
  }
  most_shift_ = 1;
  most_back_ = most_ahead_ = 0;
  for (Vertex& v : vertices_) {
    v.arcs[0] = static_cast<int>(arcs_.size());
    for (const EdgeFrom after : {EdgeFrom::done, EdgeFrom::issued}) {
      for (const EventEdge& e : graph.edges) {
        if (e.from == v.id && e.after == after) add_arcs(e, v.instance);
      }
      v.arcs[static_cast<std::size_t>(after) + 1] = static_cast<int>(arcs_.size());
    }
  }
  window_ = 2 * most_shift_;
  const auto loops = [](const Vertex& v) { return v.loop; };
  watched_ = static_cast<int>(std::find_if(vertices_.begin(), vertices_.end(), loops) - vertices_.begin());
  find_demands();
}

void Simulation::add_node(const EventNode& node, bool cut) {
  const auto demand_of = [&](std::size_t p) { return node.demand[p] + (cut ? node.cut_demand_of(p) : 0); };
  const double clocks = cut ? node.cut_clocks : node.clocks;
  const double slots = node.demand.size() > issue_pipe ? demand_of(issue_pipe) : 0;
  Node own{clocks, 1 / (slots > 0 ? slots : clocks), static_cast<int>(demands_.size()), 0};
  for (std::size_t p = 0; p < node.demand.size(); ++p) {
    if (demand_of(p) > 0)
      demands_.push_back(
          {p, demand_of(p), own.weight * demand_of(p), demand_of(p) >= g_->pipes[p].least_share * clocks});
  }
  own.demands_end = static_cast<int>(demands_.size());
  nodes_.push_back(own);
}

void Simulation::add_arcs(const EventEdge& e, int instance) {
  const EventNode &from = g_->node(e.from), &to = g_->node(e.to);
  const int here = g_->instances[at(e.from)], there = g_->instances[at(e.to)];
  const bool loop = to.phase == Phase::loop, simple = loop && from.phase == Phase::loop && e.delay >= 0 && e.ahead <= 0;
  const double wait = (e.after == EdgeFrom::done ? std::max(from.latency, 0.0) : 0) + e.latency;
  const auto add = [&](int target, int shift) {
    arcs_.push_back({wait, first_[at(e.to)] + target, shift, 0, loop, simple, e.ahead, e.in_order});
    most_shift_ = std::max(most_shift_, shift);
    if (loop && from.phase == Phase::loop) {
      Vertex& into = vertices_[at(arcs_.back().to)];
      ++into.all_waits;
      into.most_in = std::max(into.most_in, shift);
      most_back_ = std::max(most_back_, -shift);
      most_ahead_ = std::max(most_ahead_, e.ahead);
    }
    if (simple) ++vertices_[at(arcs_.back().to)].waits;
  };
  if (here == there && !e.barrier) return add((instance + e.agents) % there, e.delay + (instance + e.agents) / there);
  for (int target = 0; target < there; ++target) add(target, e.delay);
}

}  // namespace napkin::internal
