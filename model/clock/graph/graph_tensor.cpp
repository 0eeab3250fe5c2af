// Tensor operations as nodes: asynchronous ones on a pipe of their own, others as work of the threads that wait for
// them.

#include <algorithm>
#include <cmath>

#include "model/clock/graph/graph_builder.hpp"
#include "model/clock/roofline/load.hpp"

namespace napkin::internal {

namespace {

/// Returns the clocks from an instruction's last clock on the pipe to the end of the wait for it, at the largest n
/// measured.
double tail_of(const TensorInstruction& instruction, bool a_from_registers) {
  double tail = 0;
  for (const InstructionTiming& row : instruction.timing) {
    const double latency = a_from_registers ? row.latency_registers : row.latency_shared;
    if (latency > 0) tail = latency - (a_from_registers ? row.clocks_registers : row.clocks_shared);
  }
  return tail;
}

}  // namespace

void GraphBuilder::tensor(const std::string& name, const PlacedOperation& op) {
  const TensorLoad load = tensor_load(p_, op);
  const bool async = op.instruction->asynchronous;
  EventNode& into = node(name, async ? NodeKind::tensor : NodeKind::thread, op.agent);
  const double instances = this->instances(op.agent);
  if (async) {
    into.latency = tail_of(*op.instruction, op.a_from_registers);
    // Threads that wait between instructions leave the unit idle for as long as a result takes to reach them: another
    // block's instructions have it then.
    into.idle = real(op.waits - Count(1)) * into.latency;
    into.clocks = load.clocks / instances + into.idle;
    into.instructions = std::max(static_cast<int>(std::lround(load.products / instances)), 1);
    into.round_robin = !op.a_from_registers;
    if (const Unit* port = p_.machine->port(); port != nullptr)
      into.port = std::min(load.port_bytes / load.clocks / port->per_clock.best().value, 1.0);
    return;
  }
  if (const auto found = among_.find(name); found != among_.end()) into.demand = found->second;
  into.demand[tensor_pipe] = load.clocks / instances;
  into.demand[issue_pipe] += load.slots / instances / issue_rate();
  products_.emplace_back(g_.nodes.size() - 1, load.products / instances);
  if (const Unit* port = p_.machine->port(); port != nullptr)
    into.demand[static_cast<std::size_t>(port_pipe_)] += load.port_bytes / instances / port->per_clock.best().value;
  if (const auto found = stalled_among_.find(name); found != stalled_among_.end()) into.stalled = found->second;
  alone(into);
}

void GraphBuilder::register_ports() {
  const double taken = p_.machine->constant("mma_sync_ports"),
               by_one = std::max(p_.machine->constant("mma_sync_ports_one"), taken);
  const double schedulers = real(p_.machine->limits.schedulers);
  g_.pipes.push_back({"register_ports", 1});
  for (EventNode& node : g_.nodes) {
    node.demand.push_back(node.demand[issue_pipe]);
    if (!node.cut_demand.empty()) node.cut_demand.push_back(node.cut_demand[issue_pipe]);
  }
  for (const auto& each : products_) {
    EventNode& node = g_.nodes[each.first];
    const double products = each.second;  // clang 14 captures no structured binding
    const double idle = idle_schedulers(node), slots = node.demand.back();
    const auto more = [&](double clocks) { return products * (clocks / schedulers - 1 / issue_rate()); };
    node.demand.back() += more(taken);
    node.serial = std::max(node.serial, (slots + more(by_one)) * idle + node.stalled);
  }
  for (EventNode& node : g_.nodes) {
    if (node.kind == NodeKind::thread) alone(node);
  }
}

/// Returns the extra clocks between two barriers of so many instances: in a run they go in step, but those that take
/// turns on the fullest pipe wait for the last one. (model/README.md, "Time: the event graph")
double GraphBuilder::round_robin_wait(int agent, double instances) const {
  double alone = 0, in_step = 0;
  std::vector<double> work(g_.pipes.size(), 0.0);
  for (const EventNode& node : g_.nodes) {
    if (node.kind != NodeKind::thread || node.phase != Phase::loop || node.agent != agent) continue;
    double longest = node.clocks;
    for (std::size_t p = 0; p < work.size(); ++p) {
      work[p] += node.demand[p];
      longest = std::max(longest, instances * node.demand[p]);
    }
    alone += node.clocks;
    in_step += longest;
  }
  const double turns = (instances - 1) * *std::max_element(work.begin(), work.end());
  return std::max(alone + turns - in_step, 0.0);
}

void GraphBuilder::add_round_robin_waits() {
  for (EventEdge& edge : g_.edges) {
    const EventNode& from = g_.node(edge.from);
    const double instances = g_.instances[static_cast<std::size_t>(edge.from)];
    if (edge.barrier && edge.delay > 0 && instances > 1) edge.latency += round_robin_wait(from.agent, instances);
  }
}

}  // namespace napkin::internal
