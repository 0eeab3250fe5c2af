#include <algorithm>

#include "solver/select/select.hpp"

namespace napkin {
namespace {

std::size_t mixed(std::size_t seed, std::size_t value) { return (seed ^ value) * 0x9E3779B97F4A7C15U; }

std::size_t hash_of(const Question& q, int top) {
  std::size_t h = mixed(static_cast<std::size_t>(top), static_cast<std::size_t>(q.problem.dtype));
  for (const void* part : {static_cast<const void*>(q.streamed), static_cast<const void*>(q.mapping),
                           static_cast<const void*>(q.machine)}) {
    h = mixed(h, reinterpret_cast<std::size_t>(part));
  }
  for (const Count size : q.problem.sizes) h = mixed(h, static_cast<std::size_t>(size.get()));
  h = mixed(h, static_cast<std::size_t>(q.problem.mask.kind));
  h = mixed(h, static_cast<std::size_t>(q.problem.mask.left));
  h = mixed(h, static_cast<std::size_t>(q.problem.mask.right));
  for (const auto& [knob, value] : q.fixed)
    h = mixed(mixed(h, static_cast<std::size_t>(knob)), static_cast<std::size_t>(value));
  return h;
}

bool same(const Question& a, const Question& b) {
  return a.streamed == b.streamed && a.mapping == b.mapping && a.machine == b.machine && a.fixed == b.fixed &&
         a.problem.sizes == b.problem.sizes && a.problem.mask == b.problem.mask && a.problem.dtype == b.problem.dtype;
}

}  // namespace

Selector::Selector(Objective objective, std::size_t remembered)
    : objective_(std::move(objective)), remembered_(std::max<std::size_t>(remembered, 1)) {}

const Selection& Selector::select(const Question& question, int top) {
  const std::size_t hash = hash_of(question, top);
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->hash != hash || entry->top != top || !same(entry->question, question)) continue;
    entries_.splice(entries_.begin(), entries_, entry);
    return entries_.front().selection;
  }
  entries_.push_front({question, top, hash, napkin::select(question, top, objective_)});
  if (entries_.size() > remembered_) entries_.pop_back();
  return entries_.front().selection;
}

}  // namespace napkin
