#include "model/clock/period.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "model/base/error.hpp"
#include "model/clock/simulation.hpp"

namespace napkin {
namespace {

// Iterations of a run that does not settle, and from where on its steady part is read: the difference is whole turns of
// cycles with up to four tokens.
constexpr int run_length = 72, settled = 36;

/// What passes between a node's start and the moment that an edge's target may start.
double passes(const EventNode& from, const EventEdge& edge) {
  return (edge.after == EdgeFrom::done ? from.clocks + from.latency : 0) + edge.latency;
}

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

/// The maximum cycle ratio by Howard's policy iteration, on one vertex for every instance of every node that loops: what
/// runs once a block is in no cycle of the steady state. Every vertex follows one arc, its policy; the best cycle that
/// the policies run into gives a ratio, and vertices turn to arcs that lead to longer ways with it, until none does.
class Howard {
 public:
  /// `across`: through the edges alone that hold from block to block too.
  explicit Howard(const EventGraph& graph, bool across = false) : g_(graph) {
    int vertices = 0;
    for (const int instances : g_.instances) {
      first_.push_back(vertices);
      vertices += instances;
    }
    for (const EventEdge& e : g_.edges) {
      const bool loop = g_.node(e.from).phase == Phase::loop && g_.node(e.to).phase == Phase::loop;
      if (loop && !(across && e.ahead > 0)) add(e);
    }
    policy_.assign(at(vertices), -1);
    way_.assign(at(vertices), 0.0);
    met_.assign(at(vertices), 0);
    for (int a = 0; a < static_cast<int>(arcs_.size()); ++a) {
      int& policy = policy_[at(arcs_[at(a)].from)];
      if (policy < 0 || arcs_[at(a)].clocks > arcs_[at(policy)].clocks) policy = a;
    }
    do {
      follow();
    } while (turn());
  }

  [[nodiscard]] double ratio() const { return ratio_; }
  /// The nodes of the critical cycle by name.
  [[nodiscard]] std::vector<std::string> nodes() const {
    std::vector<std::string> out;
    for (const int vertex : critical_) out.push_back(name(vertex));
    return out;
  }

 private:
  struct Arc {
    int from, to, tokens;
    double clocks;
  };

  void add(const EventEdge& e) {
    const int here = g_.instances[at(e.from)], there = g_.instances[at(e.to)];
    const double clocks = passes(g_.node(e.from), e);
    for (int from = first_[at(e.from)], i = 0; i < here; ++i) {
      if (here == there && !e.barrier) {
        const int to = i + e.agents;
        arcs_.push_back({from + i, first_[at(e.to)] + to % there, e.delay + to / there, clocks});
        continue;
      }
      for (int to = 0; to < there; ++to) arcs_.push_back({from + i, first_[at(e.to)] + to, e.delay, clocks});
    }
  }

  /// Takes the best cycle among those that the policies run into, where it beats the best so far.
  void follow() {
    std::fill(met_.begin(), met_.end(), 0);
    for (int start = 0; start < static_cast<int>(policy_.size()); ++start) {
      int v = start;
      for (; policy_[at(v)] >= 0 && met_[at(v)] == 0; v = next(v)) met_[at(v)] = start + 1;
      if (policy_[at(v)] >= 0 && met_[at(v)] == start + 1) take(v);
    }
  }

  void take(int on_cycle) {
    double clocks = 0;
    int tokens = 0, v = on_cycle;
    do {
      clocks += arcs_[at(policy_[at(v)])].clocks;
      tokens += arcs_[at(policy_[at(v)])].tokens;
      v = next(v);
    } while (v != on_cycle);
    if (tokens <= 0) throw Error("edges", "a cycle of waits without tokens", "tokens on an edge of every cycle");
    if (!critical_.empty() && clocks / tokens <= ratio_) return;
    ratio_ = clocks / tokens;
    critical_.clear();
    do {
      critical_.push_back(v);
      v = next(v);
    } while (v != on_cycle);
  }

  /// Whether a vertex has an arc that leads to a longer way, in clocks less the ratio for every token.
  bool turn() {
    bool any = false;
    for (int a = 0; a < static_cast<int>(arcs_.size()); ++a) {
      const Arc& arc = arcs_[at(a)];
      const double way = arc.clocks - ratio_ * arc.tokens + way_[at(arc.to)];
      if (way <= way_[at(arc.from)] + tolerance) continue;
      way_[at(arc.from)] = way;
      policy_[at(arc.from)] = a;
      any = true;
    }
    return any;
  }

  [[nodiscard]] int next(int vertex) const { return arcs_[at(policy_[at(vertex)])].to; }

  [[nodiscard]] std::string name(int vertex) const {
    const auto node = static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), vertex) - first_.begin() - 1);
    const std::string& name = g_.nodes[node].name;
    return g_.instances[node] > 1 ? fmt::format("{}[{}]", name, vertex - first_[node]) : name;
  }

  static constexpr double tolerance = 1e-7;  // clocks

  const EventGraph& g_;
  std::vector<int> first_;  // by node: its first vertex
  std::vector<Arc> arcs_;
  std::vector<int> policy_;  // by vertex: an arc; -1 where none leaves it
  std::vector<double> way_;  // by vertex
  std::vector<int> met_;     // by vertex: the walk that met it
  std::vector<int> critical_;
  double ratio_ = 0;
};

}  // namespace

CycleRatio cycle_ratio(const EventGraph& graph) {
  const Howard howard(graph);
  return {howard.ratio(), howard.nodes()};
}

double cycle_clocks(const EventGraph& graph) { return Howard(graph, true).ratio(); }

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
BlockRun run_blocks(Simulation& simulation, int iterations, CutIterations cut = {}) {
  const Simulation::FirstBlocks run = simulation.first_blocks(iterations, cut);
  const auto of = [](const std::array<double, 3>& ends) { return BlockClocks{ends[0], ends[2] - ends[1]}; };
  return {of(run.clocks), iterations, run.least, run.turn, of(run.more)};
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
int iterations_to_settle(const EventGraph& graph, const SteadyIteration& steady) {
  const double least = steady.iterations + std::ceil(once_clocks(graph) / steady.clocks);
  if (least >= settled) return settled;
  return settled - (settled - static_cast<int>(least)) / steady.turn * steady.turn;
}

SteadyIteration steady_iteration(Simulation& simulation, const EventGraph& graph) {
  const Simulation::Steady found = simulation.steady(run_length);
  SteadyIteration out{found.clocks, found.iterations, found.turn, 0, 0, settled};
  if (found.turn > 0) {
    out.settled = iterations_to_settle(graph, out);
  } else {
    std::swap(out.clocks, out.end);
    out.mean = std::max(out.end - once_clocks(graph), 0.0) / run_length;
  }
  return out;
}

}  // namespace

void explain(const EventGraph& graph, Period& period) {
  period.cycle = cycle_ratio(graph);
  period.contention = std::max(period.clocks - std::max(period.cycle.clocks, period.pipe.clocks), 0.0);
}

namespace {

/// The simulation must be turned to the graph.
Period period_of(const std::shared_ptr<Simulation>& simulation, const EventGraph& graph, const SteadyIteration& steady, bool explained) {
  Period out;
  out.run = std::make_shared<BlockRuns>(simulation);
  out.pipe = busiest_pipe(graph);
  out.settled = steady.settled;
  const BlockClocks part = out.run->add(run_blocks(*simulation, out.settled), {}).clocks;
  const double clocks = steady.turn > 0 ? steady.clocks : (steady.end - part.first) / (run_length - settled);
  out.clocks = std::max(clocks, out.pipe.clocks);
  out.first = part.first - out.settled * out.clocks;
  out.next = part.next - out.settled * out.clocks;
  out.contention = std::max(out.clocks - out.pipe.clocks, 0.0);
  if (explained) explain(graph, out);
  return out;
}

}  // namespace

Simulation& BlockRuns::turned_to(const EventGraph& graph) {
  if (simulation_ == nullptr) simulation_ = std::make_shared<Simulation>();
  simulation_->turn_to(graph);
  return *simulation_;
}

Period period(const EventGraph& graph, bool explained) {
  const auto simulation = std::make_shared<Simulation>(graph);
  const SteadyIteration steady = steady_iteration(*simulation, graph);
  return period_of(simulation, graph, steady, explained);
}

namespace {

/// Towards `other`, by that share.
BlockClocks between(const BlockClocks& one, const BlockClocks& other, double share) {
  return {one.first + share * (other.first - one.first), one.next + share * (other.next - one.next)};
}

/// One more block of so many iterations, of which so many are cut, and the first of them: by runs that are kept.
class Runs {
 public:
  /// Without a graph: of runs that are known.
  Runs(const EventGraph* graph, const Period& period) : g_(graph), p_(period) {}

  /// Beyond where it settles, the period: behind its cut iterations a block settles as one without does.
  [[nodiscard]] BlockClocks of(double iterations, CutIterations cut) {
    cut.first = at_most(iterations, cut.first);
    cut.last = at_most(iterations - cut.first, cut.last);
    const int n = at_most(iterations, p_.settled + cut.first + cut.last);
    const double beyond = (iterations - n) * p_.clocks;
    if (n == p_.settled && cut.first + cut.last == 0) return {p_.first + n * p_.clocks + beyond, p_.next + n * p_.clocks + beyond};
    const BlockClocks known = of_run(n, cut);
    return {known.first + beyond, known.next + beyond};
  }
  [[nodiscard]] bool missed() const { return missed_; }

 private:
  /// Of the longest run that says it; below what that speaks of, a straight line to a run of a few iterations.
  BlockClocks of_run(int n, CutIterations cut) {
    const int few = 9 + cut.all();
    if (n <= few) return run(n, cut).clocks;
    for (int from = p_.settled + cut.all();;) {
      const BlockRun far = run(from, cut);
      if (missed_ || far.serves(n)) return far.of(n);
      const int other = from - (from - n) % far.turn;
      if (other == from) {
        const int least = from - (from - far.least) / far.turn * far.turn;
        return between(run(few, cut).clocks, far.of(least), static_cast<double>(n - few) / (least - few));
      }
      from = other;
    }
  }

  BlockRun run(int n, CutIterations cut) {
    const BlockRun* known = p_.run->find(n, cut);
    if (known != nullptr) return *known;
    missed_ = missed_ || g_ == nullptr;
    return missed_ ? BlockRun{} : p_.run->add(run_blocks(p_.run->turned_to(*g_), n, cut), cut);
  }

  /// The lesser of the two; iterations are whole, and may be more than an int holds.
  static int at_most(double iterations, int n) { return iterations < n ? static_cast<int>(iterations) : n; }

  const EventGraph* g_;
  const Period& p_;
  bool missed_ = false;
};

CutIterations whole(const CutChunks& cut, double (*round)(double)) {
  return {static_cast<int>(round(std::min(cut.first, BlockRuns::most_cut))), static_cast<int>(round(std::min(cut.last, BlockRuns::most_cut)))};
}

BlockClocks blocks_between(Runs& runs, const MeanBlock& block) {
  const BlockClocks low = runs.of(block.iterations, block.fewer);
  BlockClocks out = low;
  if (block.rest > 0) out = between(low, runs.of(block.iterations + 1, block.fewer), block.rest);
  if (block.more.all() > block.fewer.all()) {
    const BlockClocks cut_more = between(low, runs.of(block.iterations, block.more), block.share);
    out = {out.first + cut_more.first - low.first, out.next + cut_more.next - low.next};
  }
  return out;
}

}  // namespace

MeanBlock mean_block(double iterations, CutChunks cut) {
  MeanBlock out{std::max(std::floor(iterations), 1.0), 0, whole(cut, std::floor), whole(cut, std::ceil), 0};
  out.rest = iterations - out.iterations;
  if (const int apart = out.more.all() - out.fewer.all(); apart > 0) out.share = (cut.all() - out.fewer.first - out.fewer.last) / apart;
  return out;
}

BlockClocks block_clocks(const EventGraph& graph, const Period& period, double iterations, CutChunks cut) {
  Runs runs(&graph, period);
  return blocks_between(runs, mean_block(iterations, graph.has_cut_work() ? cut : CutChunks{}));
}

std::optional<BlockClocks> known_block_clocks(const Period& period, const MeanBlock& block) {
  Runs runs(nullptr, period);
  const BlockClocks out = blocks_between(runs, block);
  return runs.missed() ? std::nullopt : std::optional(out);
}

std::optional<SettledEnds> settled_ends(const Period& period, const MeanBlock& block) {
  SettledEnds out{block.fewer, block.more, static_cast<double>(period.settled + std::max(block.fewer.all(), block.more.all())), {}, {}};
  if (block.iterations < out.from) return std::nullopt;
  Runs runs(nullptr, period);
  const auto beyond = [&](CutIterations cut) {
    const BlockClocks clocks = runs.of(out.from, cut);
    return BlockClocks{clocks.first - out.from * period.clocks, clocks.next - out.from * period.clocks};
  };
  out.few = beyond(block.fewer);
  out.many = beyond(block.more);
  return runs.missed() ? std::nullopt : std::optional(out);
}

Periods::Periods() : simulation_(std::make_shared<Simulation>()) {}
Periods::~Periods() = default;

/// Everything about the graph; for one block's run alone without the edges that reach into the next block, but for how
/// far they reach.
void Periods::say(const EventGraph& graph, bool one_block) {
  numbers_.assign(1, static_cast<double>(graph.tensor_queue));
  for (const VectorPipe& pipe : graph.pipes) pipe.say(numbers_);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const EventNode& n = graph.nodes[i];
    numbers_.insert(numbers_.end(), {static_cast<double>(n.kind), static_cast<double>(n.phase),
                                     static_cast<double>(graph.instances[i]), n.clocks, n.latency, n.port,
                                     static_cast<double>(n.instructions), n.in_turn ? 1.0 : 0.0});
    numbers_.insert(numbers_.end(), n.demand.begin(), n.demand.end());
    if (one_block) continue;  // whose iterations are not cut
    numbers_.push_back(n.cut_clocks);
    numbers_.insert(numbers_.end(), n.cut_demand.begin(), n.cut_demand.end());
  }
  int reach = 0, beyond = 0;  // of the edges in the loop, and of those left out
  for (const EventEdge& e : graph.edges) {
    const bool loop = graph.node(e.from).phase == Phase::loop && graph.node(e.to).phase == Phase::loop;
    if (one_block && !loop && e.delay > 0) {
      beyond = std::max(beyond, e.delay);
      continue;
    }
    reach = std::max(reach, e.delay);
    numbers_.insert(numbers_.end(),
                    {static_cast<double>(e.from), static_cast<double>(e.to), static_cast<double>(e.delay),
                     static_cast<double>(e.agents), e.barrier ? 1.0 : 0.0, static_cast<double>(e.after), e.latency,
                     static_cast<double>(e.ahead)});
  }
  numbers_.push_back(std::max(reach, beyond));
}

const Period* Periods::known(const EventGraph& graph) {
  say(graph, false);
  const auto known = known_.find(numbers_);
  return known != known_.end() ? &known->second : nullptr;
}

const Period& Periods::of(const EventGraph& graph) {
  if (const Period* period = known(graph)) return *period;
  std::vector<double> numbers = numbers_;
  const SteadyIteration& from = steady(graph);
  simulation_->turn_to(graph);
  return known_.emplace(std::move(numbers), period_of(simulation_, graph, from, false)).first->second;
}

const SteadyIteration& Periods::steady(const EventGraph& graph) {
  say(graph, true);
  const auto known = steady_.find(numbers_);
  if (known != steady_.end()) return known->second;
  simulation_->turn_to(graph);
  return steady_.emplace(numbers_, steady_iteration(*simulation_, graph)).first->second;
}

std::size_t Periods::Hash::operator()(const std::vector<double>& numbers) const {
  std::size_t hash = numbers.size();
  for (const double number : numbers) hash = (hash ^ std::bit_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15U;
  return hash ^ hash >> 32;
}

}  // namespace napkin
