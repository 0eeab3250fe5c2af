// The waits of the graph: the mapping's edges, and the order in which a thread runs its nodes.

#include <algorithm>
#include <string>

#include "model/clock/graph/copy_cost.hpp"
#include "model/clock/graph/graph_builder.hpp"

namespace napkin::internal {

EventNode& GraphBuilder::node(std::string name, NodeKind kind, int of_agent) {
  g_.nodes.push_back({std::move(name), kind, Phase::loop, of_agent, 0, 0, std::vector<double>(g_.pipes.size(), 0.0)});
  return g_.nodes.back();
}

std::optional<int> GraphBuilder::agent_named(const std::string& name) const {
  for (std::size_t i = 0; i < p_.agents.size(); ++i) {
    if (p_.mapping->agents[static_cast<std::size_t>(p_.agents[i].mapping)].name == name) return static_cast<int>(i);
  }
  return std::nullopt;
}

int GraphBuilder::id(const EdgeMapping& edge, const std::string& name) const {
  if (const int found = g_.find(name); found >= 0) return found;
  for (const auto& [output, last] : last_of_) {
    if (output == name) return last;
  }
  const auto& all = p_.mapping->operations;
  const bool computes =
      std::any_of(all.begin(), all.end(), [&](const OperationMapping& one) { return one.output == name; });
  if (computes)
    throw Error(edge.location, "edges", "'" + name + "' takes no time with these knobs: it has no work",
                "work of " + name + ", or a guard on the edge");
  throw Error(edge.location, "edges", "'" + name + "' does not exist with these knobs", "a guard on the edge");
}

void GraphBuilder::add(const EdgeMapping& edge, Ends ends) {
  EventEdge out;
  out.from = ends.from;
  out.to = ends.to;
  const std::int64_t tokens = value_of(edge.tokens);
  out.delay = static_cast<int>(edge.distance);
  if (tokens > 0) {
    out.ahead = static_cast<int>(-edge.distance);
    out.delay = delay_of(tokens, out.ahead);
    if (edge.tokens.kind == Value::Kind::knob && edge.tokens.more == 0) out.tokens = edge.tokens.knob;
  }
  out.agents = static_cast<int>(edge.agents);
  out.barrier = edge.barrier;
  const EventNode &from = g_.node(out.from), &to = g_.node(out.to);
  if (from.kind == NodeKind::tensor && to.kind == NodeKind::tensor && tokens == 0) {
    out.after = EdgeFrom::issued;
  }
  if (edge.issued) out.after = EdgeFrom::issued;
  if (from.kind == NodeKind::thread && to.kind == NodeKind::tensor && stores(from))
    out.latency = p_.machine->constant_or("store_fence_barrier", 0);
  if (from.kind == NodeKind::thread && to.kind == NodeKind::tensor && another_issues(from, to))
    out.latency += p_.machine->constant_or("handover_mbarrier", 0) / 2;
  if (from.kind == NodeKind::copy && to.kind == NodeKind::copy && !cores_) out.after = EdgeFrom::issued;
  const bool hands_over = asks(to) ? from.agent != to.agent : to.kind == NodeKind::copy && !asks(from);
  if (hands_over && from.kind != NodeKind::copy && !by_threads(edge.to)) {
    out.latency += p_.machine->constant_or("handover_mbarrier", 0) / 2;
    if (p_.cluster > Count(1))
      out.latency += asks(to) ? cluster_latency(*p_.machine) : p_.machine->constant_or("cluster_handover", 0);
  }
  if (to.kind == NodeKind::store && from.kind == NodeKind::thread && !waits_for_products_)
    out.latency = p_.machine->constant_or("store_fence_barrier", 0);
  said_by_.emplace(g_.edges.size(), &edge);
  g_.edges.push_back(out);
}

void GraphBuilder::follow_waits(int node, std::vector<int>& state, std::vector<std::size_t>& way) const {
  constexpr int unseen = 0, open = 1, done = 2;
  state[static_cast<std::size_t>(node)] = open;
  for (std::size_t e = 0; e < g_.edges.size(); ++e) {
    const EventEdge& edge = g_.edges[e];
    if (edge.from != node || edge.delay > 0 || edge.agents != 0) continue;
    way.push_back(e);
    const int next = state[static_cast<std::size_t>(edge.to)];
    if (next == unseen) follow_waits(edge.to, state, way);
    if (next == open) {
      std::string cycle = g_.node(edge.to).name;
      const EdgeMapping* said = nullptr;
      auto at = std::find_if(way.begin(), way.end(), [&](std::size_t i) { return g_.edges[i].from == edge.to; });
      int delay = 0;
      for (; at != way.end(); ++at) {
        cycle += " > " + g_.node(g_.edges[*at].to).name;
        delay += g_.edges[*at].delay;
        if (const auto found = said_by_.find(*at); found != said_by_.end()) said = found->second;
      }
      if (said != nullptr && delay <= 0)
        throw Error(said->location, "edges", "a cycle of waits without tokens: " + cycle,
                    "tokens, or a distance of 1, on an edge of every cycle");
    }
    way.pop_back();
  }
  state[static_cast<std::size_t>(node)] = done;
}

void GraphBuilder::refuse_dead_cycles() const {
  std::vector<int> state(g_.nodes.size(), 0);
  std::vector<std::size_t> way;
  for (int n = 0; n < static_cast<int>(g_.nodes.size()); ++n) {
    if (state[static_cast<std::size_t>(n)] == 0) follow_waits(n, state, way);
  }
}

bool GraphBuilder::another_issues(const EventNode& from, const EventNode& to) const {
  const auto& all = p_.mapping->operations;
  const auto op = std::find_if(all.begin(), all.end(), [&](const OperationMapping& o) { return o.output == to.name; });
  if (op == all.end() || op->issuer.empty()) return false;
  return p_.mapping->agents[static_cast<std::size_t>(agent(from).mapping)].name != op->issuer;
}

bool GraphBuilder::stores(const EventNode& node) const {
  return port_pipe_ >= 0 && node.demand[static_cast<std::size_t>(port_pipe_)] > 0;
}

std::int64_t GraphBuilder::value_of(const Value& value) const {
  switch (value.kind) {
    case Value::Kind::literal: return value.literal;
    case Value::Kind::knob: return p_.tile.values[static_cast<std::size_t>(value.knob)] + value.more;
    case Value::Kind::axis:
    case Value::Kind::table: break;  // no edge's tokens stand in a table
  }
  const auto axis = p_.streamed->diagram.find_axis(value.axis);
  return axis ? p_.problem->sizes[static_cast<std::size_t>(*axis)].get() : 0;
}

void GraphBuilder::threads_in_order() {
  for (int a = 0; a < static_cast<int>(p_.agents.size()); ++a) {
    const std::vector<int> head = threads_of(a, Phase::head), loop = threads_of(a, Phase::loop),
                           tail = threads_of(a, Phase::tail);
    for (const std::vector<int>& chain : {head, loop, tail}) {
      for (std::size_t i = 1; i < chain.size(); ++i) follow(chain[i - 1], chain[i], 0);
    }
    if (loop.empty()) continue;
    follow(loop.back(), loop.front(), 1);
    if (!head.empty()) g_.edges.push_back({head.back(), loop.front()});
    if (!tail.empty()) g_.edges.push_back({loop.back(), tail.front()});
    if (!tail.empty()) g_.edges.push_back({tail.back(), head.empty() ? loop.front() : head.front(), 1});
    if (tail.empty() && !head.empty()) g_.edges.push_back({loop.back(), head.front(), 1});
  }
}

void GraphBuilder::follow(int before, int node, int delay) {
  EventEdge edge{before, node, delay};
  if (std::find(fenced_.begin(), fenced_.end(), before) != fenced_.end())
    edge.latency = p_.machine->constant_or("store_fence_barrier", 0);
  g_.edges.push_back(edge);
}

std::vector<int> GraphBuilder::threads_of(int agent, Phase phase) const {
  std::vector<int> out;
  for (int n = 0; n < static_cast<int>(g_.nodes.size()); ++n) {
    const EventNode& node = g_.node(n);
    if (node.agent == agent && node.kind == NodeKind::thread && node.phase == phase) out.push_back(n);
  }
  return out;
}

}  // namespace napkin::internal
