#include "model/clock/graph/event_graph.hpp"

#include <algorithm>

#include "model/clock/graph/graph_builder.hpp"
#include "model/mapping/compile/ways.hpp"
#include "model/mapping/knobs.hpp"

namespace napkin::internal {

GraphBuilder::GraphBuilder(const PlacedDiagram& placed) : p_(placed) {
  for (const EdgeMapping& edge : p_.mapping->edges) {
    if (holds(edge.when, p_.tile)) edges_.push_back(&edge);
  }
  waits_for_products_ = std::any_of(p_.operations.begin(), p_.operations.end(), [](const PlacedOperation& op) {
    return op.tensor && op.instruction != nullptr && !op.instruction->asynchronous;
  });
  in_steps_ = in_steps();
  if (in_steps_ >= 0)
    control_clocks_ = p_.machine->constant_or(p_.machine->units[static_cast<std::size_t>(in_steps_)], "control", 0);
  if (const Unit* issue = p_.machine->unit(UnitRole::issue); issue != nullptr)
    serial_clocks_ = p_.machine->constant_or(*issue, "serial", 0);
  cores_ = goes_ways(p_);
  if (edges_.empty()) throw Error(p_.mapping->file, "no edges: it has no event graph", "the section 'edges'");
}

std::vector<const PlacedOperation*> GraphBuilder::in_order() const {
  std::vector<const PlacedOperation*> out;
  for (const PlacedOperation& op : p_.operations) {
    if (op.phase == Phase::loop || (cores_ && op.phase == Phase::head && !op.tensor)) out.push_back(&op);
  }
  if (!waits_for_products_) return out;
  const auto place_of = [&](const PlacedOperation* op) {
    const auto& all = p_.mapping->operations;
    const Diagram& d = p_.streamed->diagram;
    const ArrayId output = d.operations[static_cast<std::size_t>(op->operation)].outputs.front();
    const std::string& name = d.arrays[static_cast<std::size_t>(output)].name;
    return std::find_if(all.begin(), all.end(), [&](const OperationMapping& o) { return o.output == name; }) -
           all.begin();
  };
  std::stable_sort(out.begin(), out.end(), [&](const auto* a, const auto* b) { return place_of(a) < place_of(b); });
  return out;
}

EventGraph GraphBuilder::nodes() {
  add_nodes();
  return std::move(g_);
}

void GraphBuilder::add_nodes() {
  g_.tensor_queue = static_cast<int>(p_.machine->constant_or("tensor_queue", 0));
  VectorPipes pipes = vector_pipes(*p_.machine, in_steps_);
  g_.pipes = std::move(pipes.pipes);
  pipe_of_ = std::move(pipes.of_unit);
  if (const Unit* port = p_.machine->port())
    port_pipe_ = pipe_of_[static_cast<std::size_t>(port - p_.machine->units.data())];
  for (const PlacedOperation* op : in_order()) operation(*op);
  for (const EdgeMapping* edge : edges_) {
    for (const std::string& end : {edge->from, edge->to}) {
      if (!end.starts_with("load ") && !end.starts_with("store ")) continue;
      cores_ ? copy_between(end) : copy(end);
    }
  }
  for (const EventNode& node : g_.nodes) {
    g_.instances.push_back(node.agent < 0 ? 1 : static_cast<int>(instances(node.agent)));
  }
}

EventGraph GraphBuilder::make() {
  add_nodes();
  std::vector<Ends> ends;
  for (const EdgeMapping* edge : edges_) {
    ends.push_back({id(*edge, edge->from), id(*edge, edge->to)});
    ask(*edge, ends.back());
  }
  for (std::size_t e = 0; e < ends.size(); ++e) add(*edges_[e], ends[e]);
  cores_ ? cores_in_order() : threads_in_order();
  refuse_dead_cycles();
  if (waits_for_products_) {
    register_ports();
    add_round_robin_waits();
  }
  return std::move(g_);
}

int EventGraph::find(std::string_view name) const {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

bool EventGraph::has_cut_work() const {
  return std::any_of(nodes.begin(), nodes.end(), [](const EventNode& node) { return node.cut_clocks > 0; });
}

void set_tokens(EventGraph& graph, const Tile& tile) {
  for (EventEdge& edge : graph.edges) {
    if (edge.tokens >= 0) edge.delay = delay_of(tile.values[static_cast<std::size_t>(edge.tokens)], edge.ahead);
  }
}

/// Makes the event graph. An edge's iterations count through the blocks that a node runs in turn; a negative delay does
/// not reach into the next block. Edges into the loop end at a block's first iteration, edges out of it begin at the
/// last; their delay is in blocks.
EventGraph event_graph(const PlacedDiagram& placed) { return GraphBuilder(placed).make(); }

EventGraph event_nodes(const PlacedDiagram& placed) { return GraphBuilder(placed).nodes(); }

}  // namespace napkin::internal
