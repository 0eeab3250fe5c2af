#include "model/clock/run/simulation.hpp"

#include <algorithm>
#include <cmath>

#include "model/base/error.hpp"

namespace napkin::internal {
namespace {

constexpr double same_clocks = 1e-6;  // what counts as the same distance, over an iteration's clocks
constexpr double same_end = 1e-6;     // clocks

}  // namespace

Simulation::Simulation(const EventGraph& graph) { turn_to(graph); }

/// Returns the target's turn that waits for this turn of the source; -1: none. A negative shift stays within its block;
/// work done once a block meets the loop at the block's first or last iteration.
int Simulation::target_turn(const Vertex& from, const Arc& arc, int turn) const {
  int to = turn + arc.shift;
  if (from.loop && arc.into_loop) {
    if (turn % iterations_ < arc.ahead) return -1;
    const int first = turn - turn % iterations_;
    if (arc.in_order && to < first && turn == first + iterations_ - 1) return first;  // a block of few iterations
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
  loop_turns_ = iterations * blocks;
  int jobs = 0;
  for (Vertex& v : vertices_) {
    v.base = jobs;
    jobs += turns(v);
  }
  for (Arc& arc : arcs_) arc.base = vertices_[at(arc.to)].base;
  s_.queues.resize(2 + g_->engines.size());
  s_.clear();
  s_.ended.assign(vertices_.size(), 0);
  known_ = 0;
  s_.let_in(let_in, iterations_);
  s_.waits.assign(at(jobs), 0);
  if (place_.size() < at(jobs)) place_.resize(at(jobs), 0);
  if (note_ != Note::nothing) noted_.assign(at(jobs), 0.0);
  count_waits();
  let_in_unblocked();
}

/// Starts the jobs that wait for nothing. Finds all of them before the first runs, since a job that it unblocks would
/// be found a second time.
void Simulation::let_in_unblocked() {
  let_in_.clear();
  for (int v = 0; v < static_cast<int>(vertices_.size()); ++v) {
    const Vertex& vertex = vertices_[at(v)];
    const int last = vertex.loop && vertex.waits > 0 ? std::min(turns(vertex), most_shift_) : turns(vertex);
    for (int turn = 0; turn < last; ++turn) {
      if (s_.waits[index({v, turn})] == 0) let_in_.push_back({v, turn});
    }
  }
  for (const Job job : let_in_) ready(job);
}

void Simulation::State::let_in(int blocks, int iterations) {
  blocks_let_in = blocks;
  iterations_let_in = blocks * iterations;
}

void Simulation::State::clear() {
  for (Queue& queue : queues) {
    queue.jobs.clear();
    queue.head = 0;
  }
  unit.parts.clear();
  unit.handing.clear();
  unit.head = 0;
  ends.assign(queues.size() + 2, never);
  free_at.assign(queues.size(), 0);
  tensor = -1;
  active.clear();
  arrivals.clear();
  first_arrival = 0;
  held.clear();
  now = changed_at = 0;
  next_end = never;
  changed = false;
  done = 0;
  skipped = {};
}

void Simulation::count_waits() {
  for (const Vertex& v : vertices_) {
    const auto first = s_.waits.begin() + v.base;
    if (v.loop) std::fill(first, first + loop_turns_, static_cast<std::int16_t>(v.waits));
  }
  for (const Vertex& v : vertices_) {
    for (int a = v.arcs.front(); a < v.arcs.back(); ++a) {
      const Arc& arc = arcs_[at(a)];
      std::int16_t* const waits = s_.waits.data() + arc.base;
      if (arc.simple) {
        for (int turn = 0; turn < std::min(arc.shift, loop_turns_); ++turn) --waits[turn];
        continue;
      }
      const int step = v.loop && !arc.into_loop ? iterations_ : 1;  // a block's last iteration alone leads out
      for (int turn = step - 1; turn < turns(v); turn += step) {
        if (const int to = target_turn(v, arc, turn); to >= 0) ++waits[to];
      }
    }
  }
}

/// Returns the work of that vertex in that turn, as an index into nodes_.
int Simulation::node_of(const Vertex& v, int turn) const {
  if (v.cut < 0) return v.id;
  const int iteration = turn % iterations_;
  return iteration < cut_.first || iteration >= iterations_ - cut_.last ? v.cut : v.id;
}

void Simulation::ready(Job job) {
  const Vertex& v = vertices_[at(job.vertex)];
  if (job.turn >= (v.loop ? s_.iterations_let_in : s_.blocks_let_in)) {
    s_.held.push_back(job);
    return;
  }
  if (note_ == Note::starts) noted_[index(job)] = s_.now;
  switch (v.kind) {
    case NodeKind::copy:
      s_.queues[v.queue].jobs.push_back(job);
      fire(job, EdgeFrom::issued);
      break;
    case NodeKind::store: s_.queues[v.queue].jobs.push_back(job); break;
    case NodeKind::tensor: hand_over(job); break;
    case NodeKind::thread: {
      const int node = node_of(v, job.turn);
      s_.active.push_back({job, node, nodes_[at(node)].clocks <= 0, 1, 0, never});
      s_.changed = true;
      break;
    }
  }
}

void Simulation::fire(Job job, EdgeFrom after) {
  const Vertex& v = vertices_[at(job.vertex)];
  const auto which = static_cast<std::size_t>(after);
  const Arc* const end = arcs_.data() + v.arcs[which + 1];
  const double late = v.late > 0 && after == EdgeFrom::done && job.turn % iterations_ < cut_.first ? v.late : 0;
  for (const Arc* arc = arcs_.data() + v.arcs[which]; arc != end; ++arc) {
    const int turn = arc->simple ? job.turn + arc->shift : target_turn(v, *arc, job.turn);
    if (turn < 0 || turn >= (arc->into_loop ? loop_turns_ : blocks_)) continue;
    if (arc->wait + late > 0) {
      arrive(s_.now + arc->wait + late, {arc->to, turn});
    } else if (--s_.waits[at(arc->base + turn)] == 0) {
      ready({arc->to, turn});
    }
  }
}

void Simulation::arrive(double time, Job job) {
  const Arrival arrival{time, job};
  std::vector<Arrival>& all = s_.arrivals;
  all.push_back(arrival);
  std::size_t i = all.size() - 1;
  for (; i > s_.first_arrival && arrival < all[i - 1]; --i) all[i] = all[i - 1];
  all[i] = arrival;
}

void Simulation::finish(Job job) {
  const Vertex& v = vertices_[at(job.vertex)];
  if (note_ == Note::starts) timeline_.spans.push_back({v.id, v.instance, job.turn, noted_[index(job)], s_.now});
  if (note_ == Note::ends) noted_[index(job)] = s_.now;
  ++s_.done;
  ++s_.ended[at(job.vertex)];
  fire(job, EdgeFrom::done);
}

/// Serves the queues' heads, then advances the time until a job ends, or an arrival lets a job begin.
void Simulation::step() {
  double ends = std::min(s_.ends[tensors], s_.ends[handed]);
  for (std::size_t which = 0; which < s_.queues.size(); ++which) {
    const double& end = s_.ends[end_of(which)];
    if (end == never && !s_.queues[which].empty()) serve(which);
    ends = std::min(ends, end);
  }
  if (s_.changed) share();
  ends = std::min(ends, s_.next_end);
  while (!receive(ends)) {
  }
  const double until = s_.now + tiny;
  if (ends > until) return;
  end_queues(until);
  if (s_.next_end <= until) end_threads();
}

/// Advances the time to the next arrival, or to the next end if that is earlier. Returns false if no job could begin
/// yet.
bool Simulation::receive(double ends) {
  if (s_.first_arrival == s_.arrivals.size()) {
    s_.arrivals.clear();
    s_.first_arrival = 0;
    if (ends == never) throw Error("edges", "a cycle of waits without tokens", "tokens on an edge of every cycle");
    s_.now = ends;
    return true;
  }
  s_.now = std::min(ends, s_.arrivals[s_.first_arrival].time);
  const double until = s_.now + tiny;
  bool begins = false;
  while (s_.first_arrival < s_.arrivals.size() && s_.arrivals[s_.first_arrival].time <= until) {
    const Job job = s_.arrivals[s_.first_arrival++].job;
    if (--s_.waits[index(job)] > 0) continue;
    ready(job);
    begins = true;
  }
  return begins || ends <= until;
}

void Simulation::serve(std::size_t which) {
  const Queue& queue = s_.queues[which];
  const Job job = queue.jobs[queue.head];
  const Vertex& v = vertices_[at(job.vertex)];
  const double start = std::max(s_.now, s_.free_at[which]);
  if (note_ == Note::starts) noted_[index(job)] = start;
  s_.ends[end_of(which)] = start + v.clocks - v.early;
  s_.free_at[which] = start + v.clocks;
}

void Simulation::end_queues(double until) {
  if (s_.ends[tensors] <= until) end_part();
  if (s_.ends[handed] <= until) see_what_is_handed_over();
  for (std::size_t which = 0; which < s_.queues.size(); ++which) {
    if (s_.ends[end_of(which)] > until) continue;
    Queue& queue = s_.queues[which];
    s_.ends[end_of(which)] = never;
    finish(queue.jobs[queue.head++]);
  }
}

void Simulation::end_threads() {
  for (std::size_t k = 0; k < s_.active.size();) {
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

/// Accounts for the threads' progress, and gives them new rates.
void Simulation::share() {
  s_.changed = false;
  const double passed = s_.now - s_.changed_at;
  s_.changed_at = s_.now;
  std::uint64_t key = s_.active.size() << 8 | static_cast<std::uint64_t>(s_.tensor + 1);
  for (Active& a : s_.active) {
    a.left -= a.rate * passed;
    key = key << 8 | static_cast<std::uint64_t>(a.node + 1);
  }
  const double* const rate = rates(key);
  s_.next_end = never;
  for (std::size_t k = 0; k < s_.active.size(); ++k) {
    Active& a = s_.active[k];
    if (rate != nullptr) a.rate = rate[k];
    a.end = a.instant ? s_.now : a.rate > 0 ? s_.now + std::max(a.left, 0.0) / a.rate : never;
    s_.next_end = std::min(s_.next_end, a.end);
  }
}

Timeline Simulation::whole(int iterations, int blocks, bool keep_spans) {
  note_ = keep_spans ? Note::starts : Note::nothing;
  cut_ = {};
  timeline_ = {};
  begin(iterations, blocks, blocks);
  for (const std::int64_t jobs = jobs_of(blocks); s_.done < jobs;) step();
  timeline_.clocks = s_.now;
  return std::move(timeline_);
}

Simulation::Steady Simulation::steady(int most_iterations) {
  note_ = Note::ends;
  cut_ = {};
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

/// Returns the clocks between the ends of two iterations of the first node that loops.
double Simulation::shift_of(int iteration, int distance) const {
  for (int v = 0; v < static_cast<int>(vertices_.size()); ++v) {
    if (vertices_[at(v)].loop) return noted_[index({v, iteration})] - noted_[index({v, iteration - distance})];
  }
  return 0;
}

/// Returns true if every node of this iteration, and of earlier ones that later ones wait for, ended equally many
/// clocks after it did `distance` iterations before.
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

}  // namespace napkin::internal
