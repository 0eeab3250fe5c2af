// What threads do in an iteration: a node for each piece of work, with its clocks on every vector pipe.

#include <algorithm>
#include <cmath>

#include "model/clock/graph/graph_builder.hpp"
#include "model/clock/roofline/load.hpp"

namespace napkin::internal {

double GraphBuilder::instances(int agent) const {
  if (agent < 0) return 1;
  if (cores_) return 1;  // cores of one kind divide the rows and go in step
  const PlacedAgent& a = p_.agents[static_cast<std::size_t>(agent)];
  const double schedulers = real(p_.machine->limits.schedulers), all = real(a.instances);
  const double warps = std::max(real(a.threads) / real(p_.machine->limits.warp_size), 1.0);
  return std::max(warps < schedulers && waits_for_products_ ? std::floor(all * warps / schedulers) : all, 1.0);
}

UnitId GraphBuilder::in_steps() const {
  for (const PlacedOperation& op : p_.operations) {
    for (const PlacedWork& work : op.work) {
      if (op.phase != Phase::loop || work.unit < 0 || work.mapping == nullptr || !work.mapping->in_steps) continue;
      const CoUse& shares = unit_of(work).co_use;
      if (!shares.alone.empty() && !shares.beside.empty()) return work.unit;
    }
  }
  return -1;
}

const Unit& GraphBuilder::unit_of(const PlacedWork& work) const {
  return p_.machine->units[static_cast<std::size_t>(work.unit)];
}

double GraphBuilder::issue_rate() const {
  const Unit* issue = p_.machine->unit(UnitRole::issue);
  return issue != nullptr ? issue->per_clock.best().value : INFINITY;
}

bool GraphBuilder::named(const std::string& node) const {
  return std::any_of(edges_.begin(), edges_.end(),
                     [&](const EdgeMapping* e) { return e->from == node || e->to == node; });
}

void GraphBuilder::operation(const PlacedOperation& op) {
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

void GraphBuilder::work(const std::string& output, std::size_t first, const PlacedOperation& op,
                        const PlacedWork& each) {
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
  if (each.mapping->stalls) {
    into.stalled += stalled(each, by);
    alone(into);
  }
  if (each.unit < 0) return;
  const Unit& unit = unit_of(each);
  const double share = each.amount / instances(by), instructions = warp_instructions(*p_.machine, unit, share);
  const bool stepped = in_steps_ >= 0 && each.mapping->in_steps;
  const double latency = stepped || each.mapping->serial ? p_.machine->constant_or(unit, "latency", 0) : 0;
  if (cut && into.cut_demand.empty()) into.cut_demand.assign(g_.pipes.size(), 0.0);
  demand(cut ? into.cut_demand : into.demand, each.unit, share);
  if (stepped) into.latency += latency;
  if (cut && each.mapping->serial)
    into.cut_serial += instructions / warps(into) * (latency > 0 ? latency : serial_clocks_);
  else if (each.mapping->serial && latency > 0)
    into.latency += instructions / warps(into) * latency;
  else if (each.mapping->serial) {
    into.serial += instructions / warps(into) * serial_clocks_;
    beside_steps(into, instructions);
  }
  alone(into);
}

void GraphBuilder::beside_steps(EventNode& into, double instructions) const {
  if (in_steps_ < 0) return;
  into.demand[static_cast<std::size_t>(pipe_of_[static_cast<std::size_t>(in_steps_)])] +=
      instructions * control_clocks_ / real(p_.machine->limits.schedulers);
}

void GraphBuilder::demand(std::vector<double>& pipes, int of_unit, double results) const {
  const Unit& unit = p_.machine->units[static_cast<std::size_t>(of_unit)];
  const int pipe = pipe_of_[static_cast<std::size_t>(of_unit)];
  if (pipe >= 0)
    pipes[static_cast<std::size_t>(pipe)] += results / (unit.per_clock.best().value * nodes_at_work(p_, unit.level));
  pipes[issue_pipe] += warp_instructions(*p_.machine, unit, results) / issue_rate();
}

double GraphBuilder::stalled(const PlacedWork& each, int by) const {
  const PlacedAgent& agent = p_.agents[static_cast<std::size_t>(by)];
  return each.amount / std::max(real(agent.threads * agent.instances), 1.0);
}

void GraphBuilder::among(const PlacedWork& each, int by) {
  if (each.mapping->stalls) {
    stalled_among_[each.mapping->with] += stalled(each, by);
    return;
  }
  std::vector<double>& pipes = among_[each.mapping->with];
  pipes.resize(g_.pipes.size(), 0.0);
  if (each.unit >= 0) demand(pipes, each.unit, each.amount / instances(by));
}

double GraphBuilder::warps(const EventNode& node) const {
  if (node.agent < 0) return 1;
  const double each = real(agent(node).threads) / real(p_.machine->limits.warp_size);
  return std::max(each * real(agent(node).instances) / instances(node.agent), 1.0);
}

int GraphBuilder::agent_of(const PlacedOperation& op, const WorkMapping& work) const {
  return work.agent.empty() ? op.agent : agent_named(work.agent).value_or(op.agent);
}

double GraphBuilder::idle_schedulers(const EventNode& node) const {
  if (cores_) return 1;
  const double schedulers = real(p_.machine->limits.schedulers);
  return std::max(schedulers / std::min(warps(node), schedulers), 1.0);
}

double GraphBuilder::alone(const EventNode& node, const std::vector<double>& demand) const {
  const double idle = idle_schedulers(node);
  double clocks = 0;
  for (std::size_t p = 0; p < g_.pipes.size(); ++p)
    clocks = std::max(clocks, demand[p] * (g_.pipes[p].port ? 1 : idle));
  return clocks;
}

void GraphBuilder::alone(EventNode& node) const {
  if (node.stalled > 0)
    node.serial = std::max(node.serial, node.demand[issue_pipe] * idle_schedulers(node) + node.stalled);
  node.clocks = std::max(alone(node, node.demand), node.serial);
  if (!node.cut_demand.empty())
    node.cut_clocks =
        node.clocks + alone(node, node.cut_demand) + node.cut_serial;  // a chunk is masked first, then looked at
}

}  // namespace napkin::internal
