#include "model/clock/event_graph.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "model/clock/copies.hpp"
#include "model/clock/load.hpp"
#include "model/clock/prediction.hpp"
#include "model/mapping/compiled.hpp"

namespace napkin {
namespace {

int delay_of(std::int64_t tokens, int ahead) { return std::max(static_cast<int>(tokens) - ahead, 0); }

/// Clocks from one instruction's last clock on the pipe to the end of the wait for it: the largest n measured.
double tail_of(const TensorInstruction& instruction, bool a_from_registers) {
  double tail = 0;
  for (const InstructionTiming& row : instruction.timing) {
    const double latency = a_from_registers ? row.latency_registers : row.latency_shared;
    if (latency > 0) tail = latency - (a_from_registers ? row.clocks_registers : row.clocks_shared);
  }
  return tail;
}

class GraphMaker {
 public:
  explicit GraphMaker(const PlacedDiagram& placed) : p_(placed) {
    for (const EdgeMapping& edge : p_.mapping->edges) {
      if (holds(edge.when, p_.tile)) edges_.push_back(&edge);
    }
    waits_for_products_ = std::any_of(p_.operations.begin(), p_.operations.end(), [](const PlacedOperation& op) {
      return op.tensor && op.instruction != nullptr && !op.instruction->asynchronous;
    });
    in_steps_ = in_steps();
    if (edges_.empty()) throw Error(p_.mapping->file, "no edges: it has no event graph", "the section 'edges'");
  }

  EventGraph make() {
    g_.tensor_queue = static_cast<int>(p_.machine->constant("tensor_queue"));
    VectorPipes pipes = vector_pipes(*p_.machine, in_steps_);
    g_.pipes = std::move(pipes.pipes);
    pipe_of_ = std::move(pipes.of_unit);
    if (const Unit* port = p_.machine->port())
      port_pipe_ = pipe_of_[static_cast<std::size_t>(port - p_.machine->units.data())];
    for (const PlacedOperation& op : p_.operations) {
      if (op.phase == Phase::loop) operation(op);
    }
    for (const EdgeMapping* edge : edges_) {
      for (const std::string& end : {edge->from, edge->to}) {
        if (end.starts_with("load ") || end.starts_with("store ")) copy(end);
      }
    }
    for (const EventNode& node : g_.nodes) {
      g_.instances.push_back(node.agent < 0 ? 1 : static_cast<int>(instances(node.agent)));
    }
    for (const EdgeMapping* edge : edges_) ask(*edge);
    for (const EdgeMapping* edge : edges_) add(*edge);
    threads_in_order();
    if (waits_for_products_) register_ports();
    return std::move(g_);
  }

 private:
  [[nodiscard]] const PlacedAgent& agent(const EventNode& node) const {
    return p_.agents[static_cast<std::size_t>(node.agent)];
  }

  /// Agents of fewer warps than there are schedulers run alike, one on each: as many as there are schedulers, or all,
  /// are one instance.
  [[nodiscard]] double instances(int agent) const {
    if (agent < 0) return 1;
    const PlacedAgent& a = p_.agents[static_cast<std::size_t>(agent)];
    const double schedulers = real(p_.machine->limits.schedulers), all = real(a.instances);
    const double warps = std::max(real(a.threads) / real(p_.machine->limits.warp_size), 1.0);
    return std::max(warps < schedulers && waits_for_products_ ? std::floor(all * warps / schedulers) : all, 1.0);
  }

  /// The unit whose work in the loop is in steps, where the machine's rates of that are known; else -1.
  [[nodiscard]] UnitId in_steps() const {
    for (const PlacedOperation& op : p_.operations) {
      for (const PlacedWork& work : op.work) {
        if (op.phase != Phase::loop || work.unit < 0 || work.mapping == nullptr || !work.mapping->in_steps) continue;
        const CoUse& shares = unit_of(work).co_use;
        if (!shares.alone.empty() && !shares.beside.empty()) return work.unit;
      }
    }
    return -1;
  }
  [[nodiscard]] const Unit& unit_of(const PlacedWork& work) const {
    return p_.machine->units[static_cast<std::size_t>(work.unit)];
  }

  [[nodiscard]] double issue_rate() const {
    const Unit* issue = p_.machine->unit(UnitRole::issue);
    return issue != nullptr ? issue->per_clock.best().value : INFINITY;
  }
  /// Clocks of an instruction that waits for the one before.
  [[nodiscard]] double serial_clocks() const {
    const Unit* issue = p_.machine->unit(UnitRole::issue);
    return issue != nullptr ? p_.machine->constant(*issue, "serial") : 0;
  }

  [[nodiscard]] bool named(const std::string& node) const {
    return std::any_of(edges_.begin(), edges_.end(),
                       [&](const EdgeMapping* e) { return e->from == node || e->to == node; });
  }

  EventNode& node(std::string name, NodeKind kind, int of_agent) {
    g_.nodes.push_back({std::move(name), kind, Phase::loop, of_agent, 0, 0, std::vector<double>(g_.pipes.size(), 0.0)});
    return g_.nodes.back();
  }

  void operation(const PlacedOperation& op) {
    const Diagram& diagram = p_.streamed->diagram;
    const ArrayId output = diagram.operations[static_cast<std::size_t>(op.operation)].outputs.front();
    const std::string& name = diagram.arrays[static_cast<std::size_t>(output)].name;
    const std::size_t first = g_.nodes.size();
    for (const PlacedWork& each : op.work) work(name, first, op, each);
    if (op.tensor && op.instruction != nullptr) tensor(name, op);
    if (op.tensor) return;
    // An operation's own name stands for the last of its work.
    if (g_.nodes.size() > first) last_of_.emplace_back(name, static_cast<int>(g_.nodes.size()) - 1);
  }

  // Work that no edge names belongs to the piece before it.
  void work(const std::string& output, std::size_t first, const PlacedOperation& op, const PlacedWork& each) {
    if (!each.mapping->with.empty()) return among(each, op.agent);
    const std::string name = output + "." + each.mapping->name;
    const int by = agent_of(op, *each.mapping);
    const bool cut = each.mapping->masked;
    const Phase phase = cut ? op.phase : phase_of(op, *each.mapping);
    const bool joins =
        g_.nodes.size() > first && g_.nodes.back().agent == by && g_.nodes.back().phase == phase && !named(name);
    EventNode& into = joins ? g_.nodes.back() : node(name, NodeKind::thread, by);
    into.phase = phase;
    if (each.mapping->fence) fenced_.push_back(static_cast<int>(&into - g_.nodes.data()));
    if (each.unit < 0) return;
    const Unit& unit = unit_of(each);
    const double share = each.amount / instances(by), instructions = warp_instructions(*p_.machine, unit, share);
    const double latency = p_.machine->constant(unit, "latency");
    if (cut && into.cut_demand.empty()) into.cut_demand.assign(g_.pipes.size(), 0.0);
    demand(cut ? into.cut_demand : into.demand, each.unit, share);
    if (in_steps_ >= 0 && each.mapping->in_steps) into.latency += latency;
    if (cut && each.mapping->serial)
      into.cut_serial += instructions / warps(into) * (latency > 0 ? latency : serial_clocks());
    else if (each.mapping->serial && latency > 0)
      into.latency += instructions / warps(into) * latency;
    else if (each.mapping->serial) {
      into.serial += instructions / warps(into) * serial_clocks();
      beside_steps(into, instructions);
    }
    alone(into);
  }

  /// What control code takes of work in steps, clocks of a scheduler's unit an instruction.
  void beside_steps(EventNode& into, double instructions) const {
    if (in_steps_ < 0) return;
    const Unit& unit = p_.machine->units[static_cast<std::size_t>(in_steps_)];
    into.demand[static_cast<std::size_t>(pipe_of_[static_cast<std::size_t>(in_steps_)])] +=
        instructions * p_.machine->constant(unit, "control") / real(p_.machine->limits.schedulers);
  }

  void demand(std::vector<double>& pipes, int of_unit, double results) const {
    const Unit& unit = p_.machine->units[static_cast<std::size_t>(of_unit)];
    const int pipe = pipe_of_[static_cast<std::size_t>(of_unit)];
    if (pipe >= 0) pipes[static_cast<std::size_t>(pipe)] += results / unit.per_clock.best().value;
    pipes[issue_pipe] += warp_instructions(*p_.machine, unit, results) / issue_rate();
  }

  /// Work that stands among the products of a later operation, which the same threads issue.
  void among(const PlacedWork& each, int by) {
    std::vector<double>& pipes = among_[each.mapping->with];
    pipes.resize(g_.pipes.size(), 0.0);
    if (each.unit >= 0) demand(pipes, each.unit, each.amount / instances(by));
  }

  [[nodiscard]] double warps(const EventNode& node) const {
    if (node.agent < 0) return 1;
    const double each = real(agent(node).threads) / real(p_.machine->limits.warp_size);
    return std::max(each * real(agent(node).instances) / instances(node.agent), 1.0);
  }

  [[nodiscard]] int agent_of(const PlacedOperation& op, const WorkMapping& work) const {
    return work.agent.empty() ? op.agent : agent_named(work.agent).value_or(op.agent);
  }

  // Fewer warps than schedulers cannot use the whole of a pipe, but of shared memory's port, which all share.
  [[nodiscard]] double alone(const EventNode& node, const std::vector<double>& demand) const {
    const double schedulers = real(p_.machine->limits.schedulers),
                 idle = std::max(schedulers / std::min(warps(node), schedulers), 1.0);
    double clocks = 0;
    for (std::size_t p = 0; p < g_.pipes.size(); ++p)
      clocks = std::max(clocks, demand[p] * (g_.pipes[p].port ? 1 : idle));
    return clocks;
  }
  void alone(EventNode& node) const {
    node.clocks = std::max(alone(node, node.demand), node.serial);
    if (!node.cut_demand.empty())
      node.cut_clocks =
          node.clocks + alone(node, node.cut_demand) + node.cut_serial;  // a chunk is masked first, then looked at
  }

  void tensor(const std::string& name, const PlacedOperation& op) {
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

  /// A product whose threads wait for it reads and writes registers for several clocks, in which its scheduler issues
  /// nothing else: one more pipe, of what every instruction takes of the schedulers' ports to their registers.
  void register_ports() {
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

  // The buffer that a name says: the array's, or the variable's, on its way into the block's level or up from it.
  [[nodiscard]] const Crossing* crossing_of(const std::string& name) const {
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

  void copy(const std::string& name) {
    if (g_.find(name) >= 0) return;
    const bool store = name.starts_with("store ");
    const Crossing* found = crossing_of(name);
    EventNode& into = node(name, store ? NodeKind::store : NodeKind::copy, -1);
    into.phase = found != nullptr ? found->phase : Phase::loop;
    if (found == nullptr) return;
    into.agent = mover_of(*found);
    const double parts = instances(into.agent);
    const bool tma = found->engine == CopyEngine::tma;
    if (tma && !store && is_asked_for(name)) {
      const AskedCopy copied = asked_copy(p_, *found);
      into.clocks = copied.clocks / parts;
      ahead_ += into.clocks - copied.alone / parts;
      into.latency = chunk_latency(p_) - ahead_;
      return;
    }
    const double out = store && tma && asks_for_copies() ? p_.machine->constant("tma_store_bandwidth") : 0;
    if (out > 0) {  // until shared memory has been read
      into.clocks = bytes_read(p_, *found) * granules_of(p_, *found) / out / parts;
      return;
    }
    const CopyTime time = copy_time(p_, *found, into.phase != Phase::loop, parts);
    into.clocks = time.clocks;
    into.latency = time.latency;
    if (into.phase == Phase::loop && !store && tma) into.first_latency = first_touch_latency(p_);
  }

  /// Whose instances have their rows moved each by itself; -1: the block's all at once.
  [[nodiscard]] int mover_of(const Crossing& crossing) const {
    if (crossing.variable < 0) return -1;
    const Variable& v = p_.variables[static_cast<std::size_t>(crossing.variable)];
    return agent_named(p_.mapping->variables[static_cast<std::size_t>(v.mapping)].moved_by).value_or(-1);
  }
  [[nodiscard]] std::optional<int> agent_named(const std::string& name) const {
    for (std::size_t i = 0; i < p_.agents.size(); ++i) {
      if (p_.mapping->agents[static_cast<std::size_t>(p_.agents[i].mapping)].name == name) return static_cast<int>(i);
    }
    return std::nullopt;
  }
  [[nodiscard]] const std::string& variable_name(int variable) const {
    const Variable& v = p_.variables[static_cast<std::size_t>(variable)];
    return p_.mapping->variables[static_cast<std::size_t>(v.mapping)].name;
  }

  [[nodiscard]] int id(const EdgeMapping& edge, const std::string& name) const {
    if (const int found = g_.find(name); found >= 0) return found;
    for (const auto& [output, last] : last_of_) {
      if (output == name) return last;
    }
    throw Error(edge.location, "edges", "'" + name + "' does not exist with these knobs", "a guard on the edge");
  }

  // A thread that asks for copies waits for their buffer; then it asks for box after box, while they come already.
  void ask(const EdgeMapping& edge) {
    const int from = id(edge, edge.from), to = id(edge, edge.to);
    if (g_.node(from).kind != NodeKind::thread || g_.node(to).kind != NodeKind::copy || value_of(edge.tokens) > 0)
      return;
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
  [[nodiscard]] bool is_asked_for(const std::string& copy) const {
    return std::any_of(edges_.begin(), edges_.end(), [&](const EdgeMapping* e) {
      const int from = e->to == copy && value_of(e->tokens) == 0 ? g_.find(e->from) : -1;
      return from >= 0 && g_.node(from).kind == NodeKind::thread;
    });
  }
  [[nodiscard]] bool asks_for_copies() const {
    return std::any_of(edges_.begin(), edges_.end(),
                       [&](const EdgeMapping* e) { return e->to.starts_with("load ") && is_asked_for(e->to); });
  }
  [[nodiscard]] bool asks(const EventNode& node) const {
    return node.kind == NodeKind::thread && g_.find(node.name + ".boxes") >= 0;
  }

  void add(const EdgeMapping& edge) {
    EventEdge out;
    out.from = id(edge, edge.from);
    out.to = id(edge, edge.to);
    const std::int64_t tokens = value_of(edge.tokens);
    out.delay = static_cast<int>(edge.distance);
    if (tokens > 0) {
      out.ahead = static_cast<int>(-edge.distance);
      out.delay = delay_of(tokens, out.ahead);
      if (edge.tokens.kind == Value::Kind::knob) out.tokens = edge.tokens.knob;
    }
    out.agents = static_cast<int>(edge.agents);
    out.barrier = edge.barrier;
    const EventNode &from = g_.node(out.from), &to = g_.node(out.to);
    if (from.kind == NodeKind::tensor && to.kind == NodeKind::tensor && tokens == 0) {
      out.after = EdgeFrom::issued;
    }
    if (edge.issued) out.after = EdgeFrom::issued;
    if (from.kind == NodeKind::thread && to.kind == NodeKind::tensor && stores(from))
      out.latency = p_.machine->constant("store_fence_barrier");
    if (from.kind == NodeKind::copy && to.kind == NodeKind::copy) out.after = EdgeFrom::issued;
    const bool hands_over = asks(to) ? from.agent != to.agent : to.kind == NodeKind::copy && !asks(from);
    if (hands_over && from.kind != NodeKind::copy && !by_threads(edge.to)) {
      out.latency += p_.machine->constant("handover_mbarrier") / 2;
      if (p_.cluster > Count(1))
        out.latency += asks(to) ? cluster_latency(*p_.machine) : p_.machine->constant("cluster_handover");
    }
    if ((out.agents != 0 || out.barrier) && from.kind != NodeKind::copy)
      out.latency = p_.machine->constant("handover_named_barrier") / 2;
    if (to.kind == NodeKind::store && from.kind == NodeKind::thread && !waits_for_products_)
      out.latency = p_.machine->constant("store_fence_barrier");
    g_.edges.push_back(out);
  }

  /// Whether the block's own threads ask for that copy, in program order.
  [[nodiscard]] bool by_threads(const std::string& copy) const {
    const Crossing* crossing = crossing_of(copy);
    return crossing != nullptr && crossing->engine == CopyEngine::cp_async;
  }

  /// What threads write to shared memory, asynchronous readers see after a fence and a barrier.
  [[nodiscard]] bool stores(const EventNode& node) const {
    return port_pipe_ >= 0 && node.demand[static_cast<std::size_t>(port_pipe_)] > 0;
  }

  [[nodiscard]] std::int64_t value_of(const Value& value) const {
    switch (value.kind) {
      case Value::Kind::literal: return value.literal;
      case Value::Kind::knob: return p_.tile.values[static_cast<std::size_t>(value.knob)];
      case Value::Kind::axis: break;
    }
    const auto axis = p_.streamed->diagram.find_axis(value.axis);
    return axis ? p_.problem->sizes[static_cast<std::size_t>(*axis)].get() : 0;
  }

  // A thread runs its nodes one after the other, iteration after iteration, and block after block.
  void threads_in_order() {
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

  void follow(int before, int node, int delay) {
    EventEdge edge{before, node, delay};
    if (std::find(fenced_.begin(), fenced_.end(), before) != fenced_.end())
      edge.latency = p_.machine->constant("store_fence_barrier");
    g_.edges.push_back(edge);
  }

  [[nodiscard]] std::vector<int> threads_of(int agent, Phase phase) const {
    std::vector<int> out;
    for (int n = 0; n < static_cast<int>(g_.nodes.size()); ++n) {
      const EventNode& node = g_.node(n);
      if (node.agent == agent && node.kind == NodeKind::thread && node.phase == phase) out.push_back(n);
    }
    return out;
  }

  const PlacedDiagram& p_;
  std::vector<const EdgeMapping*> edges_;  // that hold
  std::vector<int> pipe_of_;               // by unit
  std::vector<std::pair<std::string, int>> last_of_;
  double ahead_ = 0;         // clocks by which a buffer's copies asked for so far are there before the pipe is free
  std::vector<int> fenced_;  // nodes behind which threads pass a fence and a barrier
  bool waits_for_products_ = false;                       // threads do, for some operation of the loop
  UnitId in_steps_ = -1;                                  // whose work is in steps; -1: none's
  int port_pipe_ = -1;                                    // that of the node's memory
  std::map<std::string, std::vector<double>> among_;      // demands of work that stands among an operation's products
  std::vector<std::pair<std::size_t, double>> products_;  // by node: instructions whose threads wait for them
  EventGraph g_;
};

}  // namespace

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

EventGraph event_graph(const PlacedDiagram& placed) { return GraphMaker(placed).make(); }

}  // namespace napkin
