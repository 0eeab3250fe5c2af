// A few blocks one after the other, without the iterations that repeat what the ones before them did.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/clock/run/simulation.hpp"

namespace napkin::internal {
namespace {

constexpr double repeat_tolerance = 1e-4;  // two distances are equal within it, over the clocks of what repeats itself
constexpr double no_time = -1;

}  // namespace

Simulation::FirstBlocks Simulation::first_blocks(int iterations, CutIterations cut, bool in_full) {
  note_ = Note::nothing;
  cut_ = cut;
  skips_ = !in_full;
  FirstBlocks out;
  begin(iterations, static_cast<int>(out.clocks.size()), 1);
  for (int block = 1;; ++block) {
    const std::int64_t jobs = jobs_of(block);
    run_until(jobs, true);
    const bool next_waits = s_.done < jobs;
    if (next_waits) before_ = s_;
    run_until(jobs, false);
    out.clocks[at(block - 1)] = s_.now + s_.skipped.clocks;
    out.more[at(block - 1)] = s_.skipped.iteration;
    out.least = std::max(out.least, s_.skipped.blocks == block ? s_.skipped.least : iterations);
    out.turn = std::lcm(out.turn, s_.skipped.turn);
    if (block == blocks_) return out;
    if (next_waits) std::swap(s_, before_);
    known_ = 0;
    s_.let_in(block + 1, iterations_);
    let_in_.clear();
    let_in_.swap(s_.held);
    for (const Job job : let_in_) ready(job);
  }
}

/// Runs until `done` jobs are done, or a job is held back.
void Simulation::run_until(std::int64_t done, bool none_held) {
  while (s_.done < done && !(none_held && !s_.held.empty())) {
    const int ended = s_.ended[at(watched_)];
    step();
    if (skips_ && s_.ended[at(watched_)] != ended) skip_what_repeats();
  }
}

/// Skips ahead if the state at this iteration's end equals that at the end of an earlier one of the block.
void Simulation::skip_what_repeats() {
  const int turn = s_.ended[at(watched_)] - 1, block = turn / iterations_;
  if (block < s_.skipped.behind) return;
  if (turn % iterations_ == 0) known_ = 0;
  said_.resize(at(most_shift_ + 2));
  say();
  const Said& now = said_[at(turn) % said_.size()];
  for (int distance = 1; distance <= std::min(known_, most_shift_ + 1); ++distance) {
    const Said& then = said_[at(turn - distance) % said_.size()];
    const double clocks = now.time - then.time, apart = repeat_tolerance * clocks;
    const auto same = [&](double a, double b) { return std::abs(a - b) <= apart; };
    if (clocks <= 0 || now.numbers.size() != then.numbers.size() ||
        !std::equal(now.numbers.begin(), now.numbers.end(), then.numbers.begin(), same))
      continue;
    return skip(block, distance, clocks);
  }
  ++known_;
}

/// Records the state that the rest of the run depends on: times from now on, turns relative to the watched node's.
void Simulation::say() {
  const int turn = s_.ended[at(watched_)] - 1;
  Said& said = said_[at(turn) % said_.size()];
  said.time = s_.now;
  std::vector<double>& out = said.numbers;
  out.clear();
  const auto say_job = [&](Job job) {
    const bool runs = vertices_[at(job.vertex)].loop && job.turn / iterations_ == turn / iterations_;
    out.insert(out.end(),
               {static_cast<double>(job.vertex), static_cast<double>(runs ? job.turn - turn : iterations_ + job.turn)});
  };
  const auto say_time = [&](double time) { out.push_back(time == never ? no_time : time - s_.now); };
  for (std::size_t v = 0; v < vertices_.size(); ++v) out.push_back(s_.ended[v] - (vertices_[v].loop ? turn : 0));
  for (const Queue& queue : s_.queues) {
    out.push_back(static_cast<double>(queue.jobs.size() - queue.head));
    for (std::size_t i = queue.head; i < queue.jobs.size(); ++i) say_job(queue.jobs[i]);
  }
  for (const double at : s_.free_at) out.push_back(std::max(at - s_.now, 0.0));
  for (const double end : s_.ends) say_time(end);
  const Tensors& unit = s_.unit;
  out.push_back(static_cast<double>(unit.parts.size() - unit.head));
  for (std::size_t i = unit.head; i < unit.parts.size(); ++i) {
    say_job(unit.parts[i].job);
    out.push_back(unit.parts[i].count);
  }
  if (!unit.idle()) say_time(unit.start);
  out.push_back(static_cast<double>(unit.handing.size()));
  for (const Handing& one : unit.handing) {
    say_job(one.job);
    say_time(one.time);
  }
  out.push_back(static_cast<double>(s_.active.size()));
  for (const Active& a : s_.active) {
    say_job(a.job);
    out.push_back((a.left - a.rate * (s_.now - s_.changed_at)) * nodes_[at(a.node)].clocks);
    out.push_back(a.node);
  }
  out.push_back(static_cast<double>(s_.arrivals.size() - s_.first_arrival));
  for (std::size_t i = s_.first_arrival; i < s_.arrivals.size(); ++i) {
    say_job(s_.arrivals[i].job);
    say_time(s_.arrivals[i].time);
  }
  for (const Job job : s_.held) say_job(job);
}

/// Skips as many whole turns as do not reach into the cut iterations at the block's end; none if the repeated part
/// begins with cut iterations at its start, or has met its end.
void Simulation::skip(int block, int distance, double clocks) {
  const int start = block * iterations_, to = start + iterations_ - std::max(cut_.last, most_back_);
  const int last = furthest(start, to), like_others = start + std::max(cut_.first, most_ahead_);
  const auto began_otherwise = [&](std::size_t v) {  // the first block's first jobs wait for none
    return vertices_[v].loop && s_.ended[v] - distance < std::max(like_others, block == 0 ? vertices_[v].most_in : 0);
  };
  bool whole_turns = last < to - 1;
  for (std::size_t v = 0; v < vertices_.size() && whole_turns; ++v) whole_turns = !began_otherwise(v);
  if (!whole_turns) {
    ++known_;
    return;
  }
  const int skipped = (to - 1 - last) / distance * distance;
  Skipped& all = s_.skipped;
  all.behind = block + 1;
  ++all.blocks;
  all.clocks += clocks / distance * skipped;
  all.iteration += clocks / distance;
  all.least = std::max(all.least, iterations_ - skipped);
  all.turn = std::lcm(all.turn, distance);
  move_on(start, last, skipped);
}

/// Returns the last turn of `from` to `to` with any finished or running work.
int Simulation::furthest(int from, int to) const {
  int last = from;
  for (std::size_t i = s_.first_arrival; i < s_.arrivals.size(); ++i) {
    const Job job = s_.arrivals[i].job;
    if (vertices_[at(job.vertex)].loop && job.turn < to) last = std::max(last, job.turn);
  }
  for (const Vertex& v : vertices_) {
    if (!v.loop) continue;
    for (int turn = to - 1; turn > last; --turn) {
      if (s_.waits[at(v.base + turn)] != v.all_waits) last = turn;
    }
  }
  return last;
}

/// Shifts the finished and running work of a block, up to turn `last`, by that many iterations.
void Simulation::move_on(int from, int last, int iterations) {
  const auto move = [&](Job& job) {
    if (vertices_[at(job.vertex)].loop && job.turn >= from && job.turn <= last) job.turn += iterations;
  };
  for (std::size_t v = 0; v < vertices_.size(); ++v) {
    if (!vertices_[v].loop) continue;
    const auto first = s_.waits.begin() + vertices_[v].base;
    std::move_backward(first + from, first + last + 1, first + last + 1 + iterations);
    s_.ended[v] += iterations;
    s_.done += iterations;
  }
  for (Queue& queue : s_.queues) {
    for (std::size_t i = queue.head; i < queue.jobs.size(); ++i) move(queue.jobs[i]);
  }
  for (std::size_t i = s_.unit.head; i < s_.unit.parts.size(); ++i) move(s_.unit.parts[i].job);
  for (Handing& one : s_.unit.handing) move(one.job);
  for (Active& one : s_.active) move(one.job);
  for (std::size_t i = s_.first_arrival; i < s_.arrivals.size(); ++i) move(s_.arrivals[i].job);
}

}  // namespace napkin::internal
