#include "model/clock/run/period_bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/base/error.hpp"

namespace napkin::internal {
namespace {

/// Returns the clocks from a node's start to the earliest start of an edge's target.
double passes(const EventNode& from, const EventEdge& edge) {
  return (edge.after == EdgeFrom::done ? from.clocks + from.latency : 0) + edge.latency;
}

/// Returns the clocks of all instances in an iteration, over nodes of that kind.
double loop_clocks(const EventGraph& graph, NodeKind kind) {
  double sum = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const EventNode& node = graph.nodes[n];
    if (node.kind == kind && node.engine < 0 && node.phase == Phase::loop)
      sum += (node.clocks - node.idle) * graph.instances[n];
  }
  return sum;
}

/// Returns the clocks of a copy engine in an iteration.
double engine_clocks(const EventGraph& graph, std::size_t engine) {
  double sum = 0;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const EventNode& node = graph.nodes[n];
    if (node.engine == static_cast<int>(engine) && node.phase == Phase::loop) sum += node.clocks * graph.instances[n];
  }
  return sum;
}

/// The maximum cycle ratio by Howard's policy iteration, over every instance of every node in the loop. Each vertex
/// follows one arc, its policy; the best cycle among policies gives a ratio, and vertices switch to arcs that lead to
/// longer paths under it until none does.
class Howard {
 public:
  /// Builds the arcs; `across` takes only edges that also hold between blocks.
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
    search(vertices);
  }

  [[nodiscard]] double ratio() const { return ratio_; }
  /// Returns the names of the critical cycle's nodes.
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

  /// Iterates until no vertex switches, or until paths have grown longer for `vertices` rounds without a better cycle,
  /// which only rounding can cause. Rounds are limited for each vertex.
  void search(int vertices) {
    constexpr int most_rounds_a_vertex = 64;
    const int most = most_rounds_a_vertex * (vertices + 1);
    bool any = true;
    for (int round = 0, still = 0; any && still <= vertices && round < most; ++round) {
      still = follow() ? 0 : still + 1;
      any = turn();
    }
  }

  void add(const EventEdge& e) {
    const int here = g_.instances[at(e.from)], there = g_.instances[at(e.to)];
    const double clocks = passes(g_.node(e.from), e);
    if (!std::isfinite(clocks)) throw Error("edges", "a wait without end", "finite times in machine and mapping");
    for (int from = first_[at(e.from)], i = 0; i < here; ++i) {
      if (here == there && !e.barrier) {
        const int to = i + e.agents;
        arcs_.push_back({from + i, first_[at(e.to)] + to % there, e.delay + to / there, clocks});
        continue;
      }
      for (int to = 0; to < there; ++to) arcs_.push_back({from + i, first_[at(e.to)] + to, e.delay, clocks});
    }
  }

  /// Takes the best cycle of the current policies if it beats the best so far. Returns true if one did.
  bool follow() {
    bool better = false;
    std::fill(met_.begin(), met_.end(), 0);
    for (int start = 0; start < static_cast<int>(policy_.size()); ++start) {
      int v = start;
      for (; policy_[at(v)] >= 0 && met_[at(v)] == 0; v = next(v)) met_[at(v)] = start + 1;
      if (policy_[at(v)] >= 0 && met_[at(v)] == start + 1) better = take(v) || better;
    }
    return better;
  }

  bool take(int on_cycle) {
    double clocks = 0;
    int tokens = 0, v = on_cycle;
    do {
      clocks += arcs_[at(policy_[at(v)])].clocks;
      tokens += arcs_[at(policy_[at(v)])].tokens;
      v = next(v);
    } while (v != on_cycle);
    if (tokens <= 0) throw Error("edges", "a cycle of waits without tokens", "tokens on an edge of every cycle");
    if (!critical_.empty() && clocks / tokens <= ratio_) return false;
    ratio_ = clocks / tokens;
    critical_.clear();
    do {
      critical_.push_back(v);
      v = next(v);
    } while (v != on_cycle);
    return true;
  }

  /// Switches vertices to arcs with longer paths, in clocks less the ratio for every token. Returns true if any
  /// switched.
  bool turn() {
    bool any = false;
    for (int a = 0; a < static_cast<int>(arcs_.size()); ++a) {
      const Arc& arc = arcs_[at(a)];
      const double owed = ratio_ * arc.tokens, onward = way_[at(arc.to)], way = arc.clocks - owed + onward;
      const double rounding = relative_tolerance * (arc.clocks + owed + std::abs(onward));
      if (way <= way_[at(arc.from)] + std::max(tolerance, rounding)) continue;
      way_[at(arc.from)] = way;
      policy_[at(arc.from)] = a;
      any = true;
    }
    return any;
  }

  [[nodiscard]] int next(int vertex) const { return arcs_[at(policy_[at(vertex)])].to; }

  [[nodiscard]] std::string name(int vertex) const {
    const auto node =
        static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), vertex) - first_.begin() - 1);
    const std::string& name = g_.nodes[node].name;
    return g_.instances[node] > 1 ? fmt::format("{}[{}]", name, vertex - first_[node]) : name;
  }

  static constexpr double tolerance = 1e-7;  // clocks
  static constexpr double relative_tolerance =
      1e-12;  // without it, ways that differ by rounding alone would replace each other for ever

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
  const double tensor = loop_clocks(graph, NodeKind::tensor);
  offer("tensor", tensor, false);
  offer("copy", loop_clocks(graph, NodeKind::copy), false);
  for (std::size_t e = 0; e < graph.engines.size(); ++e) offer(graph.engines[e], engine_clocks(graph, e), false);
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

}  // namespace napkin::internal
