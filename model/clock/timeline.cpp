#include "model/clock/timeline.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <queue>

#include "model/base/error.hpp"

namespace napkin {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double tiny = 1e-9;
constexpr std::size_t issue_pipe = 1;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// One instance of a node in one turn: an iteration, counted through all blocks, or a block.
struct Job {
  int waits = 0;  // edges not yet satisfied
  double start = 0;
};

/// A thread node under way: `left` is the part still to do, `rate` parts a clock.
struct Active {
  std::size_t job = 0;
  const EventNode* node = nullptr;
  double left = 1, rate = 0;
};

class Run {
 public:
  Run(const EventGraph& graph, int iterations, int blocks, bool keep)
      : g_(graph), iterations_(iterations), blocks_(blocks), keep_(keep) {
    first_.push_back(0);
    for (std::size_t n = 0; n < g_.nodes.size(); ++n) {
      first_.push_back(first_.back() + at(g_.instances[n]) * at(turns(static_cast<int>(n))));
    }
    jobs_.resize(first_.back());
    out_.resize(g_.nodes.size());
    for (const EventEdge& edge : g_.edges) {
      out_[at(edge.from)].push_back(&edge);
      for_targets(edge, [&](std::size_t to) { ++jobs_[to].waits; });
    }
  }

  Timeline go() {
    std::vector<std::size_t> unblocked;  // before any of them lets others go on, which then would be met twice
    for (std::size_t j = 0; j < jobs_.size(); ++j) {
      if (jobs_[j].waits == 0) unblocked.push_back(j);
    }
    for (const std::size_t j : unblocked) ready(j);
    while (done_ < jobs_.size()) step();
    timeline_.clocks = now_;
    return std::move(timeline_);
  }

 private:
  struct Place {
    int node, instance, turn;
  };
  [[nodiscard]] bool loops(int node) const { return g_.node(node).phase == Phase::loop; }
  /// How often one instance runs in all.
  [[nodiscard]] int turns(int node) const { return loops(node) ? iterations_ * blocks_ : blocks_; }

  [[nodiscard]] Place place(std::size_t job) const {
    const auto node = static_cast<int>(std::upper_bound(first_.begin(), first_.end(), job) - first_.begin()) - 1;
    const std::size_t within = job - first_[at(node)], each = at(turns(node));
    return {node, static_cast<int>(within / each), static_cast<int>(within % each)};
  }
  [[nodiscard]] std::size_t job(int node, int instance, int turn) const {
    return first_[at(node)] + at(instance) * at(turns(node)) + at(turn);
  }

  /// The turn of the edge's target that waits for this turn of its source; outside the run: none waits.
  [[nodiscard]] int target_turn(const EventEdge& e, int turn, int around) const {
    const int none = -1;
    if (loops(e.from) && loops(e.to)) {
      const int to = turn + e.delay + around;
      const bool leaves_block = e.delay < 0 && (to < 0 || to / iterations_ != turn / iterations_);
      return leaves_block ? none : to;
    }
    if (loops(e.from) && turn % iterations_ != iterations_ - 1) return none;
    const int block = (loops(e.from) ? turn / iterations_ : turn) + e.delay + around;
    return loops(e.to) ? block * iterations_ : block;
  }

  /// Calls f(target job) for every dependence that the edge stands for inside the run.
  template <class F>
  void for_targets(const EventEdge& e, F&& f) const {
    for (int turn = 0; turn < turns(e.from); ++turn) {
      for (int g = 0; g < g_.instances[at(e.from)]; ++g) for_targets_of(e, g, turn, f);
    }
  }
  template <class F>
  void for_targets_of(const EventEdge& e, int instance, int turn, F&& f) const {
    const int here = g_.instances[at(e.from)], there = g_.instances[at(e.to)];
    const auto reach = [&](int to_instance, int around) {
      const int to = target_turn(e, turn, around);
      if (to >= 0 && to < turns(e.to)) f(job(e.to, to_instance, to));
    };
    if (here == there) {
      reach((instance + e.agents) % there, (instance + e.agents) / there);
      return;
    }
    for (int to = 0; to < there; ++to) reach(to, 0);
  }

  void ready(std::size_t j) {
    const EventNode& node = g_.node(place(j).node);
    jobs_[j].start = now_;
    switch (node.kind) {
      case NodeKind::copy:
        copies_.push_back(j);
        fire(j, EdgeFrom::issued, 0);
        break;
      case NodeKind::store: stores_.push_back(j); break;
      case NodeKind::tensor:
        tensors_.push_back(j);
        fire(j, EdgeFrom::issued, 0);
        break;
      case NodeKind::thread:
        active_.push_back({j, &node, 1, 0});
        changed_ = true;
        break;
    }
  }

  void fire(std::size_t j, EdgeFrom after, double latency) {
    const Place p = place(j);
    for (const EventEdge* e : out_[at(p.node)]) {
      if (e->after != after) continue;
      for_targets_of(*e, p.instance, p.turn, [&](std::size_t to) {
        const double wait = latency + e->latency;
        if (wait <= 0)
          satisfy(to);
        else
          arrivals_.emplace(now_ + wait, to);
      });
    }
  }

  void satisfy(std::size_t j) {
    if (--jobs_[j].waits == 0) ready(j);
  }

  void finish(std::size_t j) {
    const Place p = place(j);
    if (keep_) timeline_.spans.push_back({p.node, p.instance, p.turn, jobs_[j].start, now_});
    ++done_;
    fire(j, EdgeFrom::done, g_.node(p.node).latency);
  }

  // Serves the queues' heads, then lets time pass until something ends or arrives.
  void step() {
    serve(tensors_, tensor_end_, [&](std::size_t j) {
      changed_ = true;
      fire(j, EdgeFrom::started, 0);
    });
    serve(copies_, copy_end_, [](std::size_t) {});
    serve(stores_, store_end_, [](std::size_t) {});
    if (changed_) share();
    double next = std::min({tensor_end_, copy_end_, store_end_});
    if (!arrivals_.empty()) next = std::min(next, arrivals_.top().first);
    for (const Active& a : active_) {
      if (a.rate > 0) next = std::min(next, now_ + a.left / a.rate);
      if (a.node->clocks <= 0) next = now_;
    }
    if (next == never) throw Error("edges", "a cycle of waits without tokens", "tokens on an edge of every cycle");
    pass(next);
  }

  template <class F>
  void serve(std::deque<std::size_t>& queue, double& end, F&& on_start) {
    if (end != never || queue.empty()) return;
    const std::size_t j = queue.front();
    jobs_[j].start = now_;
    end = now_ + g_.node(place(j).node).clocks;
    on_start(j);
  }

  void pass(double next) {
    for (Active& a : active_) a.left -= a.rate * (next - now_);
    now_ = next;
    while (!arrivals_.empty() && arrivals_.top().first <= now_ + tiny) {
      const std::size_t j = arrivals_.top().second;
      arrivals_.pop();
      satisfy(j);
    }
    if (tensor_end_ <= now_ + tiny) changed_ = true;
    end_of(tensors_, tensor_end_);
    end_of(copies_, copy_end_);
    end_of(stores_, store_end_);
    for (std::size_t k = 0; k < active_.size();) {
      if (active_[k].left > tiny && active_[k].node->clocks > 0) {
        ++k;
        continue;
      }
      const std::size_t j = active_[k].job;
      active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(k));
      changed_ = true;
      finish(j);
    }
  }

  void end_of(std::deque<std::size_t>& queue, double& end) {
    if (end > now_ + tiny) return;
    const std::size_t j = queue.front();
    queue.pop_front();
    end = never;
    finish(j);
  }

  // Max-min fairness by water filling: all threads' issue rates grow alike until a pipe is full or the node runs as
  // fast as it does alone.
  void share() {
    changed_ = false;
    const EventNode* tensor = tensor_end_ != never ? &g_.node(place(tensors_.front()).node) : nullptr;
    room_.clear();
    for (const VectorPipe& pipe : g_.pipes) room_.push_back(tensor != nullptr ? pipe.left_by(*tensor) : 1.0);
    growing_.clear();
    for (std::size_t k = 0; k < active_.size(); ++k) {
      active_[k].rate = 0;
      if (active_[k].node->clocks > 0) growing_.push_back(k);
    }
    while (!growing_.empty()) {
      const double grow = most_growth();
      for (const std::size_t k : growing_) {
        const double more = grow * weight(*active_[k].node);
        active_[k].rate += more;
        for (std::size_t p = 0; p < room_.size(); ++p) room_[p] -= more * active_[k].node->demand[p];
      }
      std::erase_if(growing_, [&](std::size_t k) { return stopped(active_[k]); });
    }
  }

  [[nodiscard]] static double weight(const EventNode& node) {
    const double slots = node.demand[issue_pipe];
    return 1 / (slots > 0 ? slots : node.clocks);
  }

  [[nodiscard]] double most_growth() const {
    double grow = never;
    for (std::size_t p = 0; p < room_.size(); ++p) {
      double wanted = 0;
      for (const std::size_t k : growing_) wanted += weight(*active_[k].node) * active_[k].node->demand[p];
      if (wanted > 0) grow = std::min(grow, std::max(room_[p], 0.0) / wanted);
    }
    for (const std::size_t k : growing_) {
      const EventNode& node = *active_[k].node;
      grow = std::min(grow, (1 / node.clocks - active_[k].rate) / weight(node));
    }
    return std::max(grow, 0.0);
  }

  [[nodiscard]] bool stopped(const Active& a) const {
    if (a.rate >= (1 - tiny) / a.node->clocks) return true;
    for (std::size_t p = 0; p < room_.size(); ++p) {
      if (a.node->demand[p] > 0 && room_[p] <= tiny) return true;
    }
    return false;
  }

  const EventGraph& g_;
  int iterations_, blocks_;
  bool keep_;
  std::vector<std::size_t> first_;  // by node: its first job
  std::vector<Job> jobs_;
  std::vector<std::vector<const EventEdge*>> out_;
  std::deque<std::size_t> tensors_, copies_, stores_;
  double tensor_end_ = never, copy_end_ = never, store_end_ = never;
  std::vector<Active> active_;
  std::vector<double> room_;
  std::vector<std::size_t> growing_;
  using Arrival = std::pair<double, std::size_t>;
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals_;
  double now_ = 0;
  bool changed_ = false;
  std::size_t done_ = 0;
  Timeline timeline_;
};

}  // namespace

Timeline run(const EventGraph& graph, int iterations, int blocks, bool keep_spans) {
  if (iterations < 1 || blocks < 1) throw Error("iterations", "less than one", "at least 1 of each block");
  return Run(graph, iterations, blocks, keep_spans).go();
}

}  // namespace napkin
