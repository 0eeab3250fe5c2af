// The tensor unit: operations are handed over instruction by instruction into a short queue, and run in its order.
#include <algorithm>

#include "model/clock/run/simulation.hpp"

namespace napkin::internal {
void Simulation::hand_over(Job job) {
  Tensors& t = s_.unit;
  t.handing.push_back({job, never});
  if (t.idle()) {
    t.parts.assign(1, {job, tensor_of(job).instructions});
    t.head = 0;
    run_part();
  } else {
    line_up(job);
  }
  see_what_is_handed_over();
}

/// Queues a job's instructions. After the unit's own queue, operations that may alternate do so, one instruction each,
/// beginning with another operation than the queue's last; others run in order of arrival.
void Simulation::line_up(Job job) {
  take_back();
  behind_.push_back({job, tensor_of(job).instructions});
  const Part& first = behind_.front();
  const bool goes_on = first.job == s_.unit.parts.back().job && tensor_of(first.job).round_robin;
  for (std::size_t next = goes_on && behind_.size() > 1 ? 1 : 0; !behind_.empty();) {
    next %= behind_.size();
    Part& from = behind_[next];
    const int taken = tensor_of(from.job).round_robin && behind_.size() > 1 ? 1 : from.count;
    append(from.job, taken);
    from.count -= taken;
    if (from.count == 0)
      behind_.erase(behind_.begin() + static_cast<std::ptrdiff_t>(next));
    else
      ++next;
  }
}

/// Moves the instructions that are not yet in the unit's queue to `behind_`, by operation.
void Simulation::take_back() {
  Tensors& t = s_.unit;
  behind_.clear();
  if (g_->tensor_queue == 0) return;
  const double done = (s_.now - t.start) / clocks_of(t.parts[t.head].job);
  int room = g_->tensor_queue + static_cast<int>(done + tiny);
  std::size_t kept = t.head;
  for (; kept < t.parts.size() && room > 0; ++kept) {
    Part& part = t.parts[kept];
    if (const int over = part.count - room; over > 0) {
      behind_.push_back({part.job, over});
      if (kept == t.head) s_.ends[tensors] -= over * clocks_of(part.job);
      part.count = room;
    }
    room -= part.count;
  }
  if (!behind_.empty()) place_[index(behind_.front().job)] = 0;
  for (std::size_t i = kept; i < t.parts.size(); ++i) {
    const Part& part = t.parts[i];
    std::size_t& place = place_[index(part.job)];
    if (place < behind_.size() && behind_[place].job == part.job) {
      behind_[place].count += part.count;
    } else {
      place = behind_.size();
      behind_.push_back(part);
    }
  }
  t.parts.resize(kept);
}

void Simulation::append(Job job, int instructions) {
  Tensors& t = s_.unit;
  if (!(t.parts.back().job == job)) {
    t.parts.push_back({job, instructions});
    return;
  }
  if (t.head + 1 == t.parts.size()) s_.ends[tensors] += instructions * clocks_of(job);
  t.parts.back().count += instructions;
}

void Simulation::run_part() {
  Tensors& t = s_.unit;
  const Part& part = t.parts[t.head];
  t.start = s_.now;
  s_.ends[tensors] = s_.now + part.count * clocks_of(part.job);
  s_.tensor = vertices_[at(part.job.vertex)].id;
  s_.changed = true;
  if (note_ != Note::starts) return;
  int left = 0;
  for (std::size_t i = t.head; i < t.parts.size(); ++i) {
    if (t.parts[i].job == part.job) left += t.parts[i].count;
  }
  if (left == tensor_of(part.job).instructions) noted_[index(part.job)] = s_.now;
}

void Simulation::end_part() {
  Tensors& t = s_.unit;
  const Job job = t.parts[t.head++].job;
  const bool last = std::none_of(t.parts.begin() + static_cast<std::ptrdiff_t>(t.head), t.parts.end(),
                                 [&](const Part& part) { return part.job == job; });
  s_.ends[tensors] = never;
  s_.tensor = -1;
  s_.changed = true;
  if (!t.idle()) run_part();
  if (last) finish(job);
}

/// Records when the last instruction of each operation being handed over enters the unit's queue: when all but
/// `tensor_queue` of those up to it have ended. Two passes over the queued instructions serve all operations.
void Simulation::time_handing() {
  Tensors& t = s_.unit;
  constexpr auto found = static_cast<std::size_t>(-1);
  for (std::size_t h = 0; h < t.handing.size(); ++h) {
    t.handing[h].time = std::max(t.start, s_.now);
    place_[index(t.handing[h].job)] = h;
  }
  int count = 0;
  for (std::size_t i = t.head; i < t.parts.size(); ++i) count += t.parts[i].count;
  due_.clear();
  for (std::size_t i = t.parts.size(); i-- > t.head && due_.size() < t.handing.size(); count -= t.parts[i].count) {
    std::size_t& place = place_[index(t.parts[i].job)];
    if (place >= t.handing.size() || !(t.handing[place].job == t.parts[i].job)) continue;
    due_.push_back({count - g_->tensor_queue, place});
    place = found;
  }
  double clocks = 0;
  int ended = 0;  // instructions
  std::size_t i = t.head;
  for (auto due = due_.rbegin(); due != due_.rend(); ++due) {
    for (; i < t.parts.size() && ended + t.parts[i].count < due->must_end; ++i) {
      clocks += t.parts[i].count * clocks_of(t.parts[i].job);
      ended += t.parts[i].count;
    }
    const int of_part = due->must_end - ended;
    const double rest = of_part > 0 && i < t.parts.size() ? of_part * clocks_of(t.parts[i].job) : 0;
    t.handing[due->handing].time = std::max(t.start + (clocks + rest), s_.now);
  }
}

/// Releases jobs that wait for operations whose last instruction is in the queue; for other operations computes when it
/// will be.
void Simulation::see_what_is_handed_over() {
  Tensors& t = s_.unit;
  const bool all = g_->tensor_queue == 0 || t.idle();
  if (all)
    for (Handing& h : t.handing) h.time = s_.now;
  else
    time_handing();
  for (std::size_t i = 0; i < t.handing.size();) {
    if (t.handing[i].time > s_.now + tiny) {
      ++i;
      continue;
    }
    const Job job = t.handing[i].job;
    t.handing.erase(t.handing.begin() + static_cast<std::ptrdiff_t>(i));
    fire(job, EdgeFrom::issued);
    i = 0;
  }
  s_.ends[handed] = never;
  for (const Handing& h : t.handing) s_.ends[handed] = std::min(s_.ends[handed], h.time);
}

}  // namespace napkin::internal
