#pragma once
// A graph builder makes the event graph of one placed tile: a node for each piece of work and each copy, an edge for
// each wait. Threads, tensor operations, copies and edges have a source file each. Internal to model/clock.

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/clock/graph/event_graph.hpp"
#include "model/mapping/placed.hpp"

namespace napkin::internal {

/// Returns by how many iterations an edge with that many tokens lets its target run ahead.
[[nodiscard]] inline int delay_of(std::int64_t tokens, int ahead) {
  return std::max(static_cast<int>(tokens) - ahead, 0);
}

/// The copies of an iteration so far that threads ask for.
struct CopiesSoFar {
  double clocks = 0;  ///< clocks on the pipe into the block
  double wait = 0;    ///< clocks for which the last of them waits for device memory
};

class GraphBuilder {
 public:
  explicit GraphBuilder(const PlacedDiagram& placed);
  [[nodiscard]] EventGraph make();
  /// Makes the graph's nodes without its edges, and without what edges add to nodes.
  [[nodiscard]] EventGraph nodes();

 private:
  /// The nodes that an edge joins.
  struct Ends {
    int from = 0, to = 0;
  };
  void add_nodes();
  [[nodiscard]] const PlacedAgent& agent(const EventNode& node) const {
    return p_.agents[static_cast<std::size_t>(node.agent)];
  }

  /// Returns the operations that have nodes; if threads wait for products, in the mapping's order, in which they run.
  [[nodiscard]] std::vector<const PlacedOperation*> in_order() const;

  // graph_threads.cpp
  /// Returns the number of an agent's instances. Agents of fewer warps than schedulers run one on each scheduler: as
  /// many agents as there are schedulers, or all agents, form one instance.
  [[nodiscard]] double instances(int agent) const;
  /// Returns the unit whose loop work is in steps, if the machine's rates for it are known; else -1.
  [[nodiscard]] UnitId in_steps() const;
  [[nodiscard]] const Unit& unit_of(const PlacedWork& work) const;
  [[nodiscard]] double issue_rate() const;
  [[nodiscard]] bool named(const std::string& node) const;
  void operation(const PlacedOperation& op);
  /// Adds a piece of work. Work that no edge names joins the piece before it.
  void work(const std::string& output, std::size_t first, const PlacedOperation& op, const PlacedWork& each);
  /// Adds the time that control code takes from work in steps: `control_clocks_` of a scheduler an instruction.
  void beside_steps(EventNode& into, double instructions) const;
  void demand(std::vector<double>& pipes, int of_unit, double results) const;
  /// Adds work that is interleaved with the products of a later operation, which the same threads issue.
  void among(const PlacedWork& each, int by);
  /// Returns the clocks that each warp waits by such a piece of work.
  [[nodiscard]] double stalled(const PlacedWork& each, int by) const;
  [[nodiscard]] double warps(const EventNode& node) const;
  [[nodiscard]] int agent_of(const PlacedOperation& op, const WorkMapping& work) const;
  /// Returns the number of all schedulers over those that a node's warps use.
  [[nodiscard]] double idle_schedulers(const EventNode& node) const;
  /// Returns the clocks of work that its warps do alone: fewer warps than schedulers use only a part of each pipe,
  /// except of shared memory's port, which all schedulers share.
  [[nodiscard]] double alone(const EventNode& node, const std::vector<double>& demand) const;
  void alone(EventNode& node) const;

  // graph_tensor.cpp
  void tensor(const std::string& name, const PlacedOperation& op);
  /// Adds a pipe for the schedulers' register ports: a product whose threads wait for it uses them for several clocks,
  /// in which its scheduler issues nothing else.
  void register_ports();
  [[nodiscard]] double round_robin_wait(int agent, double instances) const;
  /// Adds waits at each barrier that ends an iteration of threads that wait for their products.
  void add_round_robin_waits();

  // graph_copies.cpp
  /// Finds the crossing of a copy's name, "load K" or "store O": of that array or variable, into the block's level or
  /// up from it.
  [[nodiscard]] const Crossing* crossing_of(const std::string& name) const;
  void copy(const std::string& name);
  /// Returns the clocks in which earlier copies of an iteration pass while a copy by threads waits for device memory.
  double passed_meanwhile(double wait, double clocks);
  /// Returns the agent whose instances each move their own rows; -1: the block moves all at once.
  [[nodiscard]] int mover_of(const Crossing& crossing) const;
  [[nodiscard]] const std::string& variable_name(int variable) const;
  /// Adds the clocks of a thread that asks for a copy: it waits until the buffer is free, then asks for box after box,
  /// and the first bytes arrive meanwhile.
  void ask(const EdgeMapping& edge, Ends ends);
  [[nodiscard]] bool is_asked_for(const std::string& copy) const;
  [[nodiscard]] bool asks_for_copies() const;
  [[nodiscard]] bool asks(const EventNode& node) const;
  /// Returns true if the block's own threads make that copy, in program order.
  [[nodiscard]] bool by_threads(const std::string& copy) const;

  // graph_cores.cpp
  /// Adds a copy between memories side by side, on the engine that serves its pipe.
  void copy_between(const std::string& name);
  [[nodiscard]] const Crossing* way_of(const std::string& name) const;
  [[nodiscard]] int engine_named(const std::string& name);
  /// Adds the edges of a core, which runs its operations in the mapping's order, some of them iterations ahead.
  void cores_in_order();
  void copies_in_order();
  [[nodiscard]] std::size_t place_in_mapping(int node) const;
  [[nodiscard]] int ahead_of(int node) const;

  // graph_edges.cpp
  EventNode& node(std::string name, NodeKind kind, int of_agent);
  [[nodiscard]] std::optional<int> agent_named(const std::string& name) const;
  [[nodiscard]] int id(const EdgeMapping& edge, const std::string& name) const;
  void add(const EdgeMapping& edge, Ends ends);
  /// Throws Error, at the line of an edge, for a cycle whose waits all lie within one iteration: nothing on it ever
  /// begins.
  void refuse_dead_cycles() const;
  void follow_waits(int node, std::vector<int>& state, std::vector<std::size_t>& way) const;
  /// Returns true if another thread, which those of `from` must signal first, issues the tensor operation's
  /// instructions.
  [[nodiscard]] bool another_issues(const EventNode& from, const EventNode& to) const;
  /// Returns true if the node's threads write to shared memory: asynchronous readers need a fence and a barrier first.
  [[nodiscard]] bool stores(const EventNode& node) const;
  [[nodiscard]] std::int64_t value_of(const Value& value) const;
  /// Adds edges by which a thread runs its nodes one after the other, iteration after iteration, block after block.
  void threads_in_order();
  void follow(int before, int node, int delay);
  [[nodiscard]] std::vector<int> threads_of(int agent, Phase phase) const;

  const PlacedDiagram& p_;
  std::vector<const EdgeMapping*> edges_;              // edges whose guards hold
  std::map<std::size_t, const EdgeMapping*> said_by_;  // the mapping's edge for an index into the graph's edges
  std::vector<int> pipe_of_;                           // pipe of each unit
  std::vector<std::pair<std::string, int>> last_of_;
  double ahead_ = 0;  // clocks by which a buffer's copies asked for so far end before the pipe is free
  CopiesSoFar own_copies_;
  std::vector<int> fenced_;          // nodes after which threads pass a fence and a barrier
  bool cores_ = false;               // true if agents are cores of the machine
  bool waits_for_products_ = false;  // true if threads wait for products of an operation in the loop
  UnitId in_steps_ = -1;             // unit whose work is in steps; -1: no unit's
  int port_pipe_ = -1;               // pipe of the node's memory port
  double serial_clocks_ = 0;         // clocks of an instruction that waits for the one before
  double control_clocks_ = 0;        // a scheduler's clocks for an instruction of control beside work in steps
  std::map<std::string, std::vector<double>> among_;      // demands of work placed among an operation's products
  std::map<std::string, double> stalled_among_;           // clocks that their warps wait between them
  std::vector<std::pair<std::size_t, double>> products_;  // nodes whose threads wait for products; their instructions
  EventGraph g_;
};

}  // namespace napkin::internal
