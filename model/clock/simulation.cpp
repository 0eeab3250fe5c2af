#include "model/clock/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "model/base/error.hpp"

namespace napkin {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double tiny = 1e-9;
constexpr double same_clocks = 1e-6;  // what counts as the same distance, over an iteration's clocks
constexpr double same_end = 1e-6;     // clocks
constexpr std::size_t issue_pipe = 1, share_slots = 256, most_kept = 6;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

double weight(const EventNode& node) {
  const double slots = node.demand[issue_pipe];
  return 1 / (slots > 0 ? slots : node.clocks);
}

}  // namespace

Simulation::Simulation(const EventGraph& graph) : g_(graph), shares_(share_slots) {
  for (std::size_t n = 0; n < g_.nodes.size(); ++n) {
    const EventNode& node = g_.nodes[n];
    first_.push_back(static_cast<int>(vertices_.size()));
    for (int i = 0; i < g_.instances[n]; ++i)
      vertices_.push_back({&node, static_cast<int>(n), i, node.phase == Phase::loop, 0, {}});
    demands_.emplace_back();
    for (std::size_t p = 0; p < node.demand.size(); ++p) {
      if (node.demand[p] > 0) demands_.back().push_back({p, node.demand[p]});
    }
  }
  for (Vertex& v : vertices_) {
    v.arcs = static_cast<int>(arcs_.size());
    for (const EventEdge& e : g_.edges) {
      if (e.from != v.id) continue;
      const int here = g_.instances[at(e.from)], there = g_.instances[at(e.to)];
      const bool loop = g_.node(e.to).phase == Phase::loop, simple = v.loop && loop && e.delay >= 0;
      if (here == there) {
        const int to = v.instance + e.agents;
        arcs_.push_back({first_[at(e.to)] + to % there, e.delay + to / there, e.after, loop, simple, e.latency});
        continue;
      }
      for (int to = 0; to < there; ++to) arcs_.push_back({first_[at(e.to)] + to, e.delay, e.after, loop, simple, e.latency});
    }
    std::stable_sort(arcs_.begin() + v.arcs, arcs_.end(), [](const Arc& a, const Arc& b) { return a.after < b.after; });
    for (std::size_t after = 0; after < v.ends.size(); ++after) {
      const auto past = [&](const Arc& arc) { return static_cast<std::size_t>(arc.after) > after; };
      v.ends[after] = static_cast<int>(std::find_if(arcs_.begin() + v.arcs, arcs_.end(), past) - arcs_.begin());
    }
  }
  for (const Arc& arc : arcs_) most_shift_ = std::max(most_shift_, arc.shift);
  window_ = 2 * most_shift_;
}


/// The turn of the arc's target that waits for this turn of its source; -1: none. A negative shift does not reach out
/// of its block; what runs once a block meets the loop at the block's first iteration or its last.
int Simulation::target_turn(const Vertex& from, const Arc& arc, int turn) const {
  int to = turn + arc.shift;
  if (from.loop && arc.into_loop) {
    if (arc.shift < 0 && (to < 0 || to / iterations_ != turn / iterations_)) return -1;
  } else {
    if (from.loop && turn % iterations_ != iterations_ - 1) return -1;
    const int block = (from.loop ? turn / iterations_ : turn) + arc.shift;
    to = arc.into_loop ? block * iterations_ : block;
  }
  return to >= 0 && to < turns(vertices_[at(arc.to)]) ? to : -1;
}

std::int64_t Simulation::jobs_of(int blocks) const {
  std::int64_t jobs = 0;
  for (const Vertex& v : vertices_) jobs += std::int64_t{v.loop ? iterations_ : 1} * blocks;
  return jobs;
}

void Simulation::begin(int iterations, int blocks, int let_in) {
  if (iterations < 1 || blocks < 1) throw Error("iterations", "less than one", "at least 1 of each block");
  iterations_ = iterations;
  blocks_ = blocks;
  base_.clear();
  std::size_t jobs = 0;
  for (const Vertex& v : vertices_) {
    base_.push_back(jobs);
    jobs += at(turns(v));
  }
  s_.clear();
  s_.blocks_let_in = let_in;
  s_.waits.assign(jobs, 0);
  if (note_ != Note::nothing) noted_.assign(jobs, 0.0);
  count_waits();
  std::vector<Job> unblocked;  // before any of them lets others go on, which then would be met twice
  for (int v = 0; v < static_cast<int>(vertices_.size()); ++v) {
    for (int turn = 0; turn < turns(vertices_[at(v)]); ++turn) {
      if (s_.waits[index({v, turn})] == 0) unblocked.push_back({v, turn});
    }
  }
  for (const Job job : unblocked) ready(job);
}

void Simulation::State::clear() {
  for (Queue& queue : queues) {
    queue.jobs.clear();
    queue.head = 0;
    queue.end = never;
  }
  active.clear();
  arrivals.clear();
  held.clear();
  now = changed_at = 0;
  next_end = never;
  changed = false;
  done = 0;
}

void Simulation::count_waits() {
  for (const Vertex& v : vertices_) {
    for (int a = v.arcs; a < v.ends.back(); ++a) {
      const Arc& arc = arcs_[at(a)];
      std::int16_t* const waits = s_.waits.data() + base_[at(arc.to)];
      if (arc.simple) {
        for (int turn = arc.shift; turn < iterations_ * blocks_; ++turn) ++waits[turn];
        continue;
      }
      for (int turn = 0; turn < turns(v); ++turn) {
        if (const int to = target_turn(v, arc, turn); to >= 0) ++waits[to];
      }
    }
  }
}

void Simulation::ready(Job job) {
  const Vertex& v = vertices_[at(job.vertex)];
  if (job.turn >= s_.blocks_let_in * (v.loop ? iterations_ : 1)) {
    s_.held.push_back(job);
    return;
  }
  if (note_ == Note::starts) noted_[index(job)] = s_.now;
  switch (v.node->kind) {
    case NodeKind::copy:
      s_.queues[copies].jobs.push_back(job);
      fire(job, EdgeFrom::issued, 0);
      break;
    case NodeKind::store: s_.queues[stores].jobs.push_back(job); break;
    case NodeKind::tensor:
      s_.queues[tensors].jobs.push_back(job);
      fire(job, EdgeFrom::issued, 0);
      break;
    case NodeKind::thread:
      s_.active.push_back({job, 1, 0, never});
      s_.changed = true;
      break;
  }
}

void Simulation::fire(Job job, EdgeFrom after, double latency) {
  const Vertex& v = vertices_[at(job.vertex)];
  const auto which = static_cast<std::size_t>(after);
  for (int a = which == 0 ? v.arcs : v.ends[which - 1]; a < v.ends[which]; ++a) {
    const Arc& arc = arcs_[at(a)];
    const int turn = arc.simple ? job.turn + arc.shift : target_turn(v, arc, job.turn);
    if (turn < 0 || (arc.simple && turn >= iterations_ * blocks_)) continue;
    const double wait = latency + arc.latency;
    if (wait <= 0) {
      satisfy({arc.to, turn});
      continue;
    }
    s_.arrivals.push_back({s_.now + wait, {arc.to, turn}});
    std::push_heap(s_.arrivals.begin(), s_.arrivals.end(), std::greater<>());
  }
}

void Simulation::satisfy(Job job) {
  if (--s_.waits[index(job)] == 0) ready(job);
}

void Simulation::finish(Job job) {
  const Vertex& v = vertices_[at(job.vertex)];
  if (note_ == Note::starts) timeline_.spans.push_back({v.id, v.instance, job.turn, noted_[index(job)], s_.now});
  if (note_ == Note::ends) noted_[index(job)] = s_.now;
  ++s_.done;
  fire(job, EdgeFrom::done, v.node->latency);
}

/// Serves the queues' heads, then lets time pass until something ends or arrives.
void Simulation::step() {
  serve(tensors);
  serve(copies);
  serve(stores);
  if (s_.changed) share();
  double next = s_.next_end;
  for (const Queue& queue : s_.queues) next = std::min(next, queue.end);
  if (!s_.arrivals.empty()) next = std::min(next, s_.arrivals.front().time);
  if (next == never) throw Error("edges", "a cycle of waits without tokens", "tokens on an edge of every cycle");
  pass(next);
}

void Simulation::serve(std::size_t which) {
  Queue& queue = s_.queues[which];
  if (queue.end != never || queue.empty()) return;
  const Job job = queue.jobs[queue.head];
  if (note_ == Note::starts) noted_[index(job)] = s_.now;
  queue.end = s_.now + vertices_[at(job.vertex)].node->clocks;
  if (which != tensors) return;
  s_.changed = true;
  fire(job, EdgeFrom::started, 0);
}

void Simulation::pass(double next) {
  s_.now = next;
  while (!s_.arrivals.empty() && s_.arrivals.front().time <= s_.now + tiny) {
    const Job job = s_.arrivals.front().job;
    std::pop_heap(s_.arrivals.begin(), s_.arrivals.end(), std::greater<>());
    s_.arrivals.pop_back();
    satisfy(job);
  }
  if (s_.queues[tensors].end <= s_.now + tiny) s_.changed = true;
  for (Queue& queue : s_.queues) {
    if (queue.end > s_.now + tiny) continue;
    const Job job = queue.jobs[queue.head++];
    queue.end = never;
    finish(job);
  }
  for (std::size_t k = 0; s_.next_end <= s_.now + tiny && k < s_.active.size();) {
    if (s_.active[k].end > s_.now + same_end) {
      ++k;
      continue;
    }
    const Job job = s_.active[k].job;
    s_.active.erase(s_.active.begin() + static_cast<std::ptrdiff_t>(k));
    s_.changed = true;
    finish(job);
  }
}

/// Settles what threads have done, and gives them their rates from now on.
void Simulation::share() {
  s_.changed = false;
  for (Active& a : s_.active) a.left -= a.rate * (s_.now - s_.changed_at);
  s_.changed_at = s_.now;
  set_rates();
  s_.next_end = never;
  for (Active& a : s_.active) {
    const bool instant = vertices_[at(a.job.vertex)].node->clocks <= 0;
    a.end = instant ? s_.now : a.rate > 0 ? s_.now + std::max(a.left, 0.0) / a.rate : never;
    s_.next_end = std::min(s_.next_end, a.end);
  }
}

/// From the table where the same nodes have shared the pipes before.
void Simulation::set_rates() {
  const Queue& queue = s_.queues[tensors];
  const Vertex* tensor = queue.end != never ? &vertices_[at(queue.jobs[queue.head].vertex)] : nullptr;
  std::uint64_t key = s_.active.size() << 8 | (tensor != nullptr ? static_cast<std::uint64_t>(tensor->id + 1) : 0);
  for (const Active& a : s_.active) key = key << 8 | static_cast<std::uint64_t>(vertices_[at(a.job.vertex)].id + 1);
  if (s_.active.size() > most_kept || g_.nodes.size() > 254) {
    fill(tensor);
    return;
  }
  Share& known = shares_[(key * 0x9E3779B97F4A7C15U) >> 56];
  if (known.key != key + 1) {
    fill(tensor);
    known.key = key + 1;
    for (std::size_t k = 0; k < s_.active.size(); ++k) known.rates[k] = s_.active[k].rate;
  }
  for (std::size_t k = 0; k < s_.active.size(); ++k) s_.active[k].rate = known.rates[k];
}

/// Max-min fairness by water filling: all threads' issue rates grow alike until a pipe is full or the node runs as
/// fast as it does alone.
void Simulation::fill(const Vertex* tensor) {
  room_.clear();
  for (const VectorPipe& pipe : g_.pipes) room_.push_back(tensor != nullptr ? pipe.left_by(*tensor->node) : 1.0);
  growing_.clear();
  for (std::size_t k = 0; k < s_.active.size(); ++k) {
    s_.active[k].rate = 0;
    if (node_of(k).clocks > 0) growing_.push_back(k);
  }
  while (!growing_.empty()) {
    const double grow = most_growth();
    for (const std::size_t k : growing_) {
      const double more = grow * weight(node_of(k));
      s_.active[k].rate += more;
      for (const Demand& d : demands_of(k)) room_[d.pipe] -= more * d.clocks;
    }
    std::erase_if(growing_, [&](std::size_t k) { return stopped(k); });
  }
}

double Simulation::most_growth() {
  wanted_.assign(room_.size(), 0.0);
  double grow = never;
  for (const std::size_t k : growing_) {
    for (const Demand& d : demands_of(k)) wanted_[d.pipe] += weight(node_of(k)) * d.clocks;
    grow = std::min(grow, (1 / node_of(k).clocks - s_.active[k].rate) / weight(node_of(k)));
  }
  for (std::size_t p = 0; p < room_.size(); ++p) {
    if (wanted_[p] > 0) grow = std::min(grow, std::max(room_[p], 0.0) / wanted_[p]);
  }
  return std::max(grow, 0.0);
}

bool Simulation::stopped(std::size_t k) const {
  if (s_.active[k].rate >= (1 - tiny) / node_of(k).clocks) return true;
  const auto& demands = demands_of(k);
  return std::any_of(demands.begin(), demands.end(), [&](const Demand& d) { return room_[d.pipe] <= tiny; });
}

Timeline Simulation::whole(int iterations, int blocks, bool keep_spans) {
  note_ = keep_spans ? Note::starts : Note::nothing;
  timeline_ = {};
  begin(iterations, blocks, blocks);
  while (s_.done < jobs_of(blocks)) step();
  timeline_.clocks = s_.now;
  return std::move(timeline_);
}

std::array<double, 3> Simulation::first_blocks(int iterations) {
  note_ = Note::nothing;
  std::array<double, 3> out{};
  begin(iterations, static_cast<int>(out.size()), 1);
  for (int block = 1;; ++block) {
    const std::int64_t jobs = jobs_of(block);
    while (s_.done < jobs && s_.held.empty()) step();
    const bool next_waits = s_.done < jobs;
    if (next_waits) before_ = s_;
    while (s_.done < jobs) step();
    out[at(block - 1)] = s_.now;
    if (block == blocks_) return out;
    if (next_waits) std::swap(s_, before_);
    s_.blocks_let_in = block + 1;
    std::vector<Job> held;
    held.swap(s_.held);
    for (const Job job : held) ready(job);
  }
}

Simulation::Steady Simulation::steady(int most_iterations) {
  note_ = Note::ends;
  begin(most_iterations, 1, 1);
  const std::int64_t jobs = jobs_of(1);
  std::size_t vertex = 0;  // the first that has not ended in the iteration
  for (int iteration = 0; s_.done < jobs;) {
    step();
    while (iteration < most_iterations) {
      while (vertex < vertices_.size() && has_ended(vertex, iteration)) ++vertex;
      if (vertex < vertices_.size()) break;
      for (int distance = 1; distance <= most_shift_ + 1; ++distance) {
        if (repeats(iteration, distance)) return {shift_of(iteration, distance) / distance, iteration + 2, distance};
      }
      ++iteration;
      vertex = 0;
    }
  }
  return {s_.now, most_iterations, 0};
}

bool Simulation::has_ended(std::size_t vertex, int iteration) const {
  return !vertices_[vertex].loop || noted_[index({static_cast<int>(vertex), iteration})] > 0;
}

/// Clocks from the end of an iteration to that of a later one, of the first node that loops.
double Simulation::shift_of(int iteration, int distance) const {
  for (int v = 0; v < static_cast<int>(vertices_.size()); ++v) {
    if (vertices_[at(v)].loop) return noted_[index({v, iteration})] - noted_[index({v, iteration - distance})];
  }
  return 0;
}

/// Whether every node of this iteration, and of those before it that later ones wait for, ended the same clocks after it
/// did `distance` before.
bool Simulation::repeats(int iteration, int distance) const {
  if (iteration < distance + window_) return false;
  const double shift = shift_of(iteration, distance);
  for (int v = 0; v < static_cast<int>(vertices_.size()); ++v) {
    if (!vertices_[at(v)].loop) continue;
    const double* const ends = noted_.data() + index({v, iteration});
    for (int back = 0; back > -window_; --back) {
      if (std::abs(ends[back] - ends[back - distance] - shift) > same_clocks * shift) return false;
    }
  }
  return shift > 0;
}

}  // namespace napkin
