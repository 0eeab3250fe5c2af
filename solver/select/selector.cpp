#include <algorithm>

#include "solver/select/graph_search.hpp"
#include "solver/select/search.hpp"
#include "solver/select/select.hpp"

namespace napkin {
namespace {

constexpr std::size_t most_searches = 16;

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
         a.problem.sizes == b.problem.sizes && a.problem.mask == b.problem.mask && a.problem.dtype == b.problem.dtype &&
         a.problem.packing == b.problem.packing;
}

}  // namespace

Selector::Selector(Objective objective, std::size_t remembered)
    : objective_(std::move(objective)), remembered_(std::max<std::size_t>(remembered, 1)) {}
Selector::~Selector() = default;
Selector::Selector(Selector&&) noexcept = default;
Selector& Selector::operator=(Selector&&) noexcept = default;

Selection Selector::ask(const Question& question, int top) {
  if (objective_.periods != nullptr) {
    if (GraphSearch* search = objective_.searches->search_for(question, objective_))
      return search->run(top, Each::tile);
  }
  for (auto search = searches_.begin(); search != searches_.end(); ++search) {
    if (!(*search)->serves(question)) continue;
    searches_.splice(searches_.begin(), searches_, search);
    (*search)->turn_to(question);
    return (*search)->run(top);
  }
  searches_.push_front(
      std::make_unique<Search>(question, objective_.periods != nullptr ? without_periods(objective_) : objective_));
  if (searches_.size() > most_searches) searches_.pop_back();
  return searches_.front()->run(top);
}

const Selection& Selector::select(const Question& question, int top) {
  const std::size_t hash = hash_of(question, top);
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->hash != hash || entry->top != top || !same(entry->question, question)) continue;
    entries_.splice(entries_.begin(), entries_, entry);
    return entries_.front().selection;
  }
  entries_.push_front({question, top, hash, ask(question, top)});
  if (entries_.size() > remembered_) entries_.pop_back();
  return entries_.front().selection;
}

}  // namespace napkin
