// Tensor operations as nodes: asynchronous ones on a pipe of their own, others as work of the threads that wait for
// them.

#include <algorithm>
#include <cmath>

#include "model/clock/graph/graph_builder.hpp"
#include "model/clock/roofline/load.hpp"

namespace napkin {

namespace {

/// Clocks from one instruction's last clock on the pipe to the end of the wait for it: the largest n measured.
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
    into.clocks = load.clocks / instances;
    into.latency = tail_of(*op.instruction, op.a_from_registers);
    into.instructions = std::max(static_cast<int>(std::lround(load.products / instances)), 1);
    into.in_turn = !op.a_from_registers;
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
  alone(into);
}

void GraphBuilder::register_ports() {
  const double taken = p_.machine->constant("mma_sync_ports");
  g_.pipes.push_back({"register_ports", 1});
  for (EventNode& node : g_.nodes) {
    node.demand.push_back(node.demand[issue_pipe]);
    if (!node.cut_demand.empty()) node.cut_demand.push_back(node.cut_demand[issue_pipe]);
  }
  for (const auto& [n, products] : products_) g_.nodes[n].demand.back() += products * (taken - 1) / issue_rate();
  for (EventNode& node : g_.nodes) {
    if (node.kind == NodeKind::thread) alone(node);
  }
}

}  // namespace napkin
