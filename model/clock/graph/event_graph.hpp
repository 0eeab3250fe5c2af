#pragma once
// An EventGraph is one compute node's steady work as a marked graph: a node is work of an agent on a pipe in an
// iteration of the stream, an edge says which work waits for which. Attention's graph has the nodes load K, S, P.max,
// P.exp, O, ..., and an edge from S to P.max. Nodes and edges come from the mapping, durations from its instruction
// counts and the machine's measured rates; nothing here knows an algorithm or a kernel. (model/README.md, "Time: the
// event graph")

#include <string>
#include <string_view>
#include <vector>

#include "model/clock/graph/issue_model.hpp"
#include "model/mapping/placed.hpp"

namespace napkin::internal {

enum class NodeKind {
  copy,    ///< copy engine that fills a buffer: one at a time, in order of request
  store,   ///< copy engine that takes a result away: one at a time, beside the copies in
  tensor,  ///< asynchronous tensor operation: one at a time, in order of issue
  thread   ///< instructions of an agent's threads, which share all vector pipes max-min fairly
};

/// The work of one instance in an iteration.
struct EventNode {
  std::string name;  ///< "load K", "S", "P.max", "O.rescale"
  NodeKind kind = NodeKind::thread;
  Phase phase = Phase::loop;  ///< phase; head and tail run once a block
  int agent = -1;             ///< index into PlacedDiagram::agents; -1: the block's copy engine
  double clocks = 0;          ///< clocks on its pipe (copy, tensor), or alone on the node (thread)
  /// Clocks from the node's last clock on the pipe until dependents may use the result. A copy's may be negative: its
  /// result is ready earlier.
  double latency = 0;
  std::vector<double> demand;  ///< clocks of each vector pipe (EventGraph::pipes), for threads
  double idle = 0;       ///< part of `clocks` in which the tensor unit idles, since threads wait for each instruction
  double port = 0;       ///< share of shared memory's port that a tensor operation's operands take
  int instructions = 1;  ///< instructions in which a tensor operation is handed over, in order
  bool round_robin = false;  ///< true if agents hand over one tensor instruction each in turn while the unit's queue is
                             ///< full
  double serial = 0;         ///< clocks of a thread's instructions that wait for each other
  double stalled = 0;        ///< clocks that each warp waits beyond its instructions' slots
  /// Clocks added to `demand` in iterations whose chunk the mask or the array's end cuts.
  std::vector<double> cut_demand = {};
  double cut_serial = 0;     ///< clocks of these instructions that each wait for the one before
  double cut_clocks = 0;     ///< clocks of such an iteration alone; 0 if there is no such work
  double first_latency = 0;  ///< clocks added to a copy's `latency` in a block's first cut iterations, whose bytes no
                             ///< block has loaded before

  int engine = -1;  ///< index into EventGraph::engines, for copies and stores; -1: the block's queue of copies, or of
                    ///< stores

  [[nodiscard]] double cut_demand_of(std::size_t pipe) const { return cut_demand.empty() ? 0 : cut_demand[pipe]; }
};

enum class EdgeFrom {
  done,    ///< availability of the result
  issued,  ///< hand-over of all instructions, in program order; for a tensor operation the last is then in the queue
};

/// The number of a block's first and last iterations that also do the work of cut chunks (EventNode::cut_demand).
struct CutIterations {
  int first = 0, last = 0;
  [[nodiscard]] int all() const { return first + last; }
  bool operator==(const CutIterations&) const = default;
};

/// A wait: instance g of `to` in iteration i waits for instance g - agents of `from` in iteration i - delay. If g -
/// agents < 0, the predecessor is the last agents' instance of the iteration before, so agents take turns cyclically.
/// (see event_graph())
struct EventEdge {
  int from = 0, to = 0;
  int delay = 0;  ///< iterations (blocks), which are tokens on the edge; negative: software pipelining
  int agents = 0;
  EdgeFrom after = EdgeFrom::done;
  double latency = 0;    ///< clocks added to the node's own
  KnobId tokens = -1;    ///< knob whose value, less `ahead`, is `delay`; -1: none
  int ahead = 0;         ///< iterations of one block between `from` and the iteration that lets `to` go on
  bool barrier = false;  ///< true if every instance of `to` waits for all of `from`
  bool in_order =
      false;  ///< true for a core's program, in which an iteration ahead beyond the block's end still delays that end
};

struct EventGraph {
  int tensor_queue = 0;  ///< tensor instructions that the unit accepts ahead, the running one among them; 0: any number
  std::vector<VectorPipe> pipes;
  std::vector<EventNode> nodes;
  std::vector<EventEdge> edges;
  std::vector<int> instances;             ///< instances by node: 1 for copies, their agent's for others
  std::vector<std::string> engines = {};  ///< copy engines of the node, each a queue beside the two of the block

  [[nodiscard]] const EventNode& node(int id) const { return nodes[static_cast<std::size_t>(id)]; }
  [[nodiscard]] int find(std::string_view name) const;  ///< returns -1 if there is none
  [[nodiscard]] bool has_cut_work() const;
};

/// Returns the queue of a copy or a store: 0 for copies, 1 for stores, 2 + e for engine e.
[[nodiscard]] inline int queue_of(const EventNode& node) {
  if (node.engine >= 0) return 2 + node.engine;
  return node.kind == NodeKind::store ? 1 : 0;
}

/// Makes the graph of a block's steady iteration. Thread nodes of an agent run in the mapping's order. Throws Error if
/// the mapping has no edges, or if an edge names a node that does not exist under the tile's knobs.
[[nodiscard]] EventGraph event_graph(const PlacedDiagram& placed);

/// Makes the nodes of that graph alone, in half of the time: their work on pipes is the graph's, but their clocks lack
/// what waits add, and the pipe of the schedulers' register ports is left out.
[[nodiscard]] EventGraph event_nodes(const PlacedDiagram& placed);

/// Gives the graph the tokens of another tile, which differs only in knobs for tokens (EventEdge::tokens), all at least
/// 1.
void set_tokens(EventGraph& graph, const Tile& tile);

}  // namespace napkin::internal
