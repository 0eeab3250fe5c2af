#include "model/clock/period.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/howard_cycle_ratio.hpp>
#include <cmath>
#include <limits>

#include "model/base/error.hpp"
#include "model/clock/simulation.hpp"

namespace napkin {
namespace {

// Iterations of a run that does not settle, and from where on its steady part is read: the difference is whole turns of
// cycles with up to four tokens.
constexpr int run_length = 72, settled = 36;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

using EdgeWeights = boost::property<boost::edge_weight_t, double, boost::property<boost::edge_weight2_t, double>>;
using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS,
                                    boost::property<boost::vertex_index_t, int>, EdgeWeights>;

/// Howard's algorithm stops when no policy gains more than this, in clocks; Boost's default is 0.005.
struct Tolerance {
  using value_type = double;
  static double infinity() { return std::numeric_limits<double>::infinity(); }
  static double epsilon() { return -1e-7; }
};

/// What passes between a node's start and the moment that an edge's target may start.
double passes(const EventNode& from, const EventEdge& edge) {
  return (edge.after == EdgeFrom::done ? from.clocks + from.latency : 0) + edge.latency;
}

/// One vertex for every instance of every node.
class Unfolded {
 public:
  explicit Unfolded(const EventGraph& g) : g_(g) {
    first_.push_back(0);
    for (const int n : g_.instances) first_.push_back(first_.back() + n);
    graph_ = Graph(at(first_.back()));
    for (const EventEdge& e : g_.edges) add(e);
  }
  [[nodiscard]] Graph& graph() { return graph_; }
  [[nodiscard]] std::string name(std::size_t vertex) const {
    const auto node = std::upper_bound(first_.begin(), first_.end(), static_cast<int>(vertex)) - first_.begin() - 1;
    const int instance = static_cast<int>(vertex) - first_[static_cast<std::size_t>(node)];
    const EventNode& n = g_.nodes[static_cast<std::size_t>(node)];
    return g_.instances[static_cast<std::size_t>(node)] > 1 ? fmt::format("{}[{}]", n.name, instance) : n.name;
  }

 private:
  // What runs once a block is in no cycle of the steady state.
  void add(const EventEdge& e) {
    if (g_.node(e.from).phase != Phase::loop || g_.node(e.to).phase != Phase::loop) return;
    const int here = g_.instances[at(e.from)], there = g_.instances[at(e.to)];
    const double weight = passes(g_.node(e.from), e);
    for (int from = 0; from < here; ++from) {
      if (here == there) {
        connect(first_[at(e.from)] + from, first_[at(e.to)] + (from + e.agents) % there, weight,
                e.delay + (from + e.agents) / there);
        continue;
      }
      for (int to = 0; to < there; ++to) connect(first_[at(e.from)] + from, first_[at(e.to)] + to, weight, e.delay);
    }
  }
  void connect(int from, int to, double weight, int tokens) {
    boost::add_edge(at(from), at(to), EdgeWeights(weight, boost::property<boost::edge_weight2_t, double>(tokens)),
                    graph_);
  }

  const EventGraph& g_;
  std::vector<int> first_;
  Graph graph_;
};

double tensor_clocks(const EventGraph& graph) {
  double sum = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].kind == NodeKind::tensor && graph.nodes[n].phase == Phase::loop)
      sum += graph.nodes[n].clocks * graph.instances[n];
  }
  return sum;
}

double copy_clocks(const EventGraph& graph) {
  double sum = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (graph.nodes[n].kind == NodeKind::copy && graph.nodes[n].phase == Phase::loop)
      sum += graph.nodes[n].clocks * graph.instances[n];
  }
  return sum;
}

}  // namespace

CycleRatio cycle_ratio(const EventGraph& graph) {
  Unfolded unfolded(graph);
  std::vector<boost::graph_traits<Graph>::edge_descriptor> critical;
  Graph& g = unfolded.graph();
  const double ratio = boost::maximum_cycle_ratio(g, get(boost::vertex_index, g), get(boost::edge_weight, g),
                                                  get(boost::edge_weight2, g), &critical, Tolerance());
  CycleRatio out;
  if (critical.empty()) return out;
  double tokens = 0;
  for (const auto& e : critical) tokens += get(boost::edge_weight2, g, e);
  if (tokens <= 0) throw Error("edges", "a cycle of waits without tokens", "tokens on an edge of every cycle");
  out.clocks = std::max(ratio, 0.0);
  for (const auto& e : critical) out.nodes.push_back(unfolded.name(source(e, g)));
  return out;
}

BusiestPipe busiest_pipe(const EventGraph& graph) {
  BusiestPipe out;
  const auto offer = [&](const std::string& name, double clocks, bool beside) {
    if (clocks > out.clocks) out = {clocks, name, beside};
  };
  const double tensor = tensor_clocks(graph);
  offer("tensor", tensor, false);
  offer("copy", copy_clocks(graph), false);
  for (std::size_t p = 0; p < graph.pipes.size(); ++p) {
    double work = 0;
    for (std::size_t n = 0; n < graph.nodes.size(); ++n)
      if (graph.nodes[n].phase == Phase::loop) work += graph.nodes[n].demand[p] * graph.instances[n];
    if (work <= 0) continue;
    const double lost = (1 - graph.pipes[p].beside) * tensor;
    offer(graph.pipes[p].name, work + lost, lost > 0);
  }
  return out;
}

namespace {

/// A block of so many iterations alone, and one more behind two others.
BlockClocks run_blocks(Simulation& simulation, int iterations) {
  const auto clocks = simulation.first_blocks(iterations);
  return {clocks[0], clocks[2] - clocks[1]};
}

/// Clocks of what a block does once, one after the other.
double once_clocks(const EventGraph& graph) {
  double sum = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const EventNode& node = graph.nodes[n];
    if (node.phase != Phase::loop) sum += node.clocks * graph.instances[n] + node.latency;
  }
  return sum;
}

/// Iterations from which on one more adds the steady clocks to any block: the steady state is reached, and then there is
/// time for what the block before and the next one do once. Whole turns short of `settled`.
int iterations_to_settle(const EventGraph& graph, const Simulation::Steady& steady) {
  const double least = steady.iterations + std::ceil(once_clocks(graph) / steady.clocks);
  if (least >= settled) return settled;
  return settled - (settled - static_cast<int>(least)) / steady.turn * steady.turn;
}

}  // namespace

Period period(const EventGraph& graph, bool explained) {
  Period out;
  out.shorter = std::make_shared<std::unordered_map<int, BlockClocks>>();
  if (explained) out.cycle = cycle_ratio(graph);
  out.pipe = busiest_pipe(graph);
  Simulation simulation(graph);
  const Simulation::Steady steady = simulation.steady(run_length);
  out.settled = steady.turn > 0 ? iterations_to_settle(graph, steady) : settled;
  const BlockClocks part = run_blocks(simulation, out.settled);
  const double clocks = steady.turn > 0 ? steady.clocks : (steady.clocks - part.first) / (run_length - settled);
  out.clocks = std::max(clocks, out.pipe.clocks);
  out.first = part.first - out.settled * out.clocks;
  out.next = part.next - out.settled * out.clocks;
  out.contention = std::max(out.clocks - std::max(out.cycle.clocks, out.pipe.clocks), 0.0);
  return out;
}

BlockClocks block_clocks(const EventGraph& graph, const Period& period, double iterations) {
  if (iterations >= period.settled)
    return {period.first + iterations * period.clocks, period.next + iterations * period.clocks};
  const auto run_or_known = [&](int n) {
    const auto known = period.shorter->find(n);
    if (known != period.shorter->end()) return known->second;
    Simulation simulation(graph);
    return period.shorter->emplace(n, run_blocks(simulation, n)).first->second;
  };
  const int below = std::max(static_cast<int>(std::floor(iterations)), 1);
  const BlockClocks low = run_or_known(below);
  const double rest = iterations - below;
  if (rest <= 0) return low;
  const BlockClocks high = run_or_known(below + 1);
  return {low.first + rest * (high.first - low.first), low.next + rest * (high.next - low.next)};
}

const Period& Periods::of(const EventGraph& graph) {
  numbers_.clear();
  for (const VectorPipe& p : graph.pipes) numbers_.insert(numbers_.end(), {p.beside, p.port ? 1.0 : 0.0, p.least});
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const EventNode& n = graph.nodes[i];
    numbers_.insert(numbers_.end(), {static_cast<double>(n.kind), static_cast<double>(n.phase),
                                     static_cast<double>(graph.instances[i]), n.clocks, n.latency, n.port});
    numbers_.insert(numbers_.end(), n.demand.begin(), n.demand.end());
  }
  for (const EventEdge& e : graph.edges) {
    numbers_.insert(numbers_.end(),
                    {static_cast<double>(e.from), static_cast<double>(e.to), static_cast<double>(e.delay),
                     static_cast<double>(e.agents), static_cast<double>(e.after), e.latency});
  }
  const auto known = known_.find(numbers_);
  return known != known_.end() ? known->second : known_.emplace(numbers_, period(graph, false)).first->second;
}

std::size_t Periods::Hash::operator()(const std::vector<double>& numbers) const {
  std::size_t hash = numbers.size();
  for (const double number : numbers) hash = (hash ^ std::bit_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15U;
  return hash ^ hash >> 32;
}

}  // namespace napkin
