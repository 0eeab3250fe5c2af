// Agents that are cores: copies by engines of the node, and a core's operations in their order.
#include <algorithm>

#include "model/clock/graph/graph_builder.hpp"
#include "model/clock/roofline/load.hpp"

namespace napkin::internal {

/// Returns the crossing into the variable that the name says, or out of it.
const Crossing* GraphBuilder::way_of(const std::string& name) const {
  const bool store = name.starts_with("store ");
  const std::string what = name.substr(name.find(' ') + 1);
  const Crossing* found = nullptr;
  for (const Crossing& c : p_.crossings) {
    if (c.variable < 0 || c.store != store || variable_name(c.variable) != what) continue;
    if (!store || found == nullptr) found = &c;  // the last leg into it, the first out of it
  }
  return found;
}

int GraphBuilder::engine_named(const std::string& name) {
  const auto found = std::find(g_.engines.begin(), g_.engines.end(), name);
  const auto index = static_cast<int>(found - g_.engines.begin());
  if (found == g_.engines.end()) g_.engines.push_back(name);
  return index;
}

void GraphBuilder::copy_between(const std::string& name) {
  if (g_.find(name) >= 0) return;
  const Crossing* way = way_of(name);
  EventNode& into = node(name, name.starts_with("store ") ? NodeKind::store : NodeKind::copy, -1);
  if (way == nullptr) throw Error(p_.mapping->file, "nothing crosses for '" + name + "'", "an edge without it");
  into.phase = way->phase;
  const Pipe* pipe = way->pipe >= 0 ? &p_.machine->pipes[static_cast<std::size_t>(way->pipe)] : nullptr;
  if (pipe == nullptr || !pipe->per_node_clock.known())
    throw Error(p_.machine->name, "no pipe of a known rate for '" + name + "'",
                "pipes: {..., bandwidth_per_node: ...}");
  const double nodes = std::max(nodes_at_work(p_, pipe->from), nodes_at_work(p_, pipe->to));
  into.clocks = bytes_read(p_, *way) / (pipe->per_node_clock.best().value * nodes);
  if (pipe->latency) into.latency = pipe->latency->value;
  into.engine = engine_named(pipe->engine.empty() ? pipe->name : pipe->engine);
}

/// Returns the mapping's index of the operation that the node belongs to.
std::size_t GraphBuilder::place_in_mapping(int node) const {
  const std::string& name = g_.node(node).name;
  const auto& all = p_.mapping->operations;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (name == all[i].output || name.starts_with(all[i].output + ".")) return i;
  }
  return all.size();
}

int GraphBuilder::ahead_of(int node) const {
  const std::size_t place = place_in_mapping(node);
  if (place >= p_.mapping->operations.size() || !p_.mapping->operations[place].ahead) return 0;
  return static_cast<int>(value_of(*p_.mapping->operations[place].ahead));
}

/// Adds a core's program order: in round r it runs iteration r + ahead of each operation; each operation waits for the
/// previous in the round, and the round's first for the last of the round before.
void GraphBuilder::cores_in_order() {
  for (int a = 0; a < static_cast<int>(p_.agents.size()); ++a) {
    std::vector<int> loop;
    for (int n = 0; n < static_cast<int>(g_.nodes.size()); ++n) {
      const EventNode& node = g_.node(n);
      if (node.agent == a && node.phase == Phase::loop) loop.push_back(n);
    }
    std::stable_sort(loop.begin(), loop.end(), [&](int x, int y) { return place_in_mapping(x) < place_in_mapping(y); });
    for (std::size_t i = 0; i < loop.size(); ++i) {
      const bool wraps = i + 1 == loop.size();
      const int from = loop[i], to = wraps ? loop.front() : loop[i + 1];
      EventEdge edge{from, to, (wraps ? 1 : 0) + ahead_of(to) - ahead_of(from)};
      const bool tensors = g_.node(from).kind == NodeKind::tensor && g_.node(to).kind == NodeKind::tensor;
      if (tensors) edge.after = EdgeFrom::issued;
      edge.in_order = edge.delay < 0;
      g_.edges.push_back(edge);
      if (loop.size() == 1) continue;
      edge = {from, from, 1};
      if (g_.node(from).kind == NodeKind::tensor) edge.after = EdgeFrom::issued;
      g_.edges.push_back(edge);
    }
    const std::vector<int> head = threads_of(a, Phase::head), tail = threads_of(a, Phase::tail);
    if (loop.empty()) continue;
    for (const std::vector<int>& chain : {head, tail}) {
      for (std::size_t i = 1; i < chain.size(); ++i) follow(chain[i - 1], chain[i], 0);
    }
    if (!head.empty()) g_.edges.push_back({head.back(), loop.front()});
    if (!tail.empty()) g_.edges.push_back({loop.back(), tail.front()});
    if (!tail.empty()) g_.edges.push_back({tail.back(), head.empty() ? loop.front() : head.front(), 1});
    if (tail.empty() && !head.empty()) g_.edges.push_back({loop.back(), head.front(), 1});
  }
  copies_in_order();
}

/// Orders the loop's copies that wait for data loaded once a block: later iterations' requests follow the first's.
void GraphBuilder::copies_in_order() {
  std::vector<int> copies;
  for (const EventEdge& edge : g_.edges) {
    const EventNode& to = g_.node(edge.to);
    const bool first_waits = g_.node(edge.from).phase == Phase::head && edge.delay == 0;
    if (first_waits && to.phase == Phase::loop && to.kind == NodeKind::copy) copies.push_back(edge.to);
  }
  for (const int copy : copies) g_.edges.push_back({copy, copy, 1, 0, EdgeFrom::issued});
}

}  // namespace napkin::internal
