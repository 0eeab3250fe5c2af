#include "apps/library/question/kept_placers.hpp"

#include <algorithm>

namespace napkin {
namespace {

constexpr std::size_t most_kept = 64;

}  // namespace

std::unique_ptr<KeptPlacers::Bound> KeptPlacers::take(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const auto& one) { return one.first == key; });
  if (found == kept_.end()) return nullptr;
  std::unique_ptr<Bound> out = std::move(found->second);
  kept_.erase(found);
  return out;
}

void KeptPlacers::give_back(const Key& key, std::unique_ptr<Bound> bound) {
  const std::lock_guard lock(mutex_);
  kept_.emplace_front(key, std::move(bound));
  if (kept_.size() > most_kept) kept_.pop_back();
}

KeptPlacer::KeptPlacer(KeptPlacers& from, const Streamed& streamed, const Mapping& mapping, const Machine& machine,
                       const Problem& problem)
    : from_(from), key_{&streamed, &mapping, &machine, problem.dtype, problem.mask.kind}, bound_(from.take(key_)) {
  if (bound_ != nullptr) {
    bound_->problem = problem;
    bound_->placer->rebind(bound_->problem);
    return;
  }
  auto fresh = std::make_unique<KeptPlacers::Bound>();
  fresh->problem = problem;
  fresh->placer.emplace(streamed, mapping, machine, fresh->problem);
  bound_ = std::move(fresh);
}

}  // namespace napkin
