// Copies into and out of the block as nodes, and the threads that ask for them.

#include <algorithm>

#include "model/clock/graph/copy_cost.hpp"
#include "model/clock/graph/graph_builder.hpp"
#include "model/clock/roofline/load.hpp"

namespace napkin::internal {

const Crossing* GraphBuilder::crossing_of(const std::string& name) const {
  const bool store = name.starts_with("store ");
  const std::string what = name.substr(name.find(' ') + 1);
  const Crossing* found = nullptr;
  for (const Crossing& c : p_.crossings) {
    if (c.auxiliary >= 0 || c.store != store || c.into != p_.block().level) continue;
    const auto& array = p_.streamed->diagram.arrays[static_cast<std::size_t>(c.array)].name;
    if (array == what || (c.variable >= 0 && variable_name(c.variable) == what)) found = &c;
  }
  return found;
}

void GraphBuilder::copy(const std::string& name) {
  if (g_.find(name) >= 0) return;
  const bool store = name.starts_with("store ");
  const Crossing* found = crossing_of(name);
  EventNode& into = node(name, store ? NodeKind::store : NodeKind::copy, -1);
  // A result that stays may have its base's store, which takes no time and waits for the block's last work.
  into.phase = found != nullptr ? found->phase : store ? Phase::tail : Phase::loop;
  if (found == nullptr) return;
  into.agent = mover_of(*found);
  const double parts = instances(into.agent);
  const bool tma = found->engine == CopyEngine::tma;
  if (tma && !store && is_asked_for(name)) {
    const AskedCopy copied = asked_copy(p_, *found);
    into.clocks = copied.clocks / parts;
    ahead_ += into.clocks - copied.alone / parts;
    into.latency = chunk_latency(p_, *found) - ahead_;
    return;
  }
  const double out = store && tma && asks_for_copies() ? p_.machine->constant_or("tma_store_bandwidth", 0) : 0;
  if (out > 0) {  // until shared memory has been read
    into.clocks = bytes_read(p_, *found) * granules_of(p_, *found) / out / parts;
    return;
  }
  const CopyTime time = copy_time(p_, *found, into.phase != Phase::loop, parts);
  into.clocks = time.clocks;
  into.latency = time.latency;
  if (into.phase != Phase::loop || store) return;
  if (tma) into.first_latency = first_touch_latency(p_);
  if (!tma) into.latency -= passed_meanwhile(chunk_wait(p_, *found), into.clocks);
}

double GraphBuilder::passed_meanwhile(double wait, double clocks) {
  const double later = std::max(wait - own_copies_.wait, 0.0), passed = std::min(later, own_copies_.clocks);
  own_copies_.wait = std::max(own_copies_.wait, wait);
  own_copies_.clocks += clocks;
  return passed;
}

int GraphBuilder::mover_of(const Crossing& crossing) const {
  if (crossing.variable < 0) return -1;
  const Variable& v = p_.variables[static_cast<std::size_t>(crossing.variable)];
  return agent_named(p_.mapping->variables[static_cast<std::size_t>(v.mapping)].moved_by).value_or(-1);
}

const std::string& GraphBuilder::variable_name(int variable) const {
  const Variable& v = p_.variables[static_cast<std::size_t>(variable)];
  return p_.mapping->variables[static_cast<std::size_t>(v.mapping)].name;
}

void GraphBuilder::ask(const EdgeMapping& edge, Ends ends) {
  const auto [from, to] = ends;
  if (g_.node(from).kind != NodeKind::thread || g_.node(to).kind != NodeKind::copy || value_of(edge.tokens) > 0) return;
  const Crossing* crossing = crossing_of(edge.to);
  if (crossing == nullptr || crossing->engine != CopyEngine::tma) return;
  const std::string name = edge.from + ".boxes";
  if (g_.find(name) < 0) {
    EventNode& asks = g_.nodes[static_cast<std::size_t>(from)];
    asks.serial = asking_clocks(p_);
    alone(asks);
    const int agent = asks.agent;
    node(name, NodeKind::thread, agent).serial = meeting_clocks(p_);
    g_.instances.push_back(g_.instances[static_cast<std::size_t>(from)]);
  }
  EventNode& boxes = g_.nodes[static_cast<std::size_t>(g_.find(name))];
  boxes.serial += boxes_clocks(p_, *crossing);
  alone(boxes);
}

bool GraphBuilder::is_asked_for(const std::string& copy) const {
  return std::any_of(edges_.begin(), edges_.end(), [&](const EdgeMapping* e) {
    const int from = e->to == copy && value_of(e->tokens) == 0 ? g_.find(e->from) : -1;
    return from >= 0 && g_.node(from).kind == NodeKind::thread;
  });
}

bool GraphBuilder::asks_for_copies() const {
  return std::any_of(edges_.begin(), edges_.end(),
                     [&](const EdgeMapping* e) { return e->to.starts_with("load ") && is_asked_for(e->to); });
}

bool GraphBuilder::asks(const EventNode& node) const {
  return node.kind == NodeKind::thread && g_.find(node.name + ".boxes") >= 0;
}

bool GraphBuilder::by_threads(const std::string& copy) const {
  const Crossing* crossing = crossing_of(copy);
  return crossing != nullptr && crossing->engine == CopyEngine::cp_async;
}

}  // namespace napkin::internal
