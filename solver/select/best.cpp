#include "solver/select/best.hpp"

#include <algorithm>

namespace napkin::internal {

double Best::enough() const { return best_.size() < most_ ? limit_ : std::min(limit_, best_.back().time); }

double Best::enough(std::int64_t size) const {
  const auto known = of_size(size);
  return known == best_.end() ? enough() : std::min(limit_, known->time);
}

std::vector<Best::Found>::const_iterator Best::of_size(std::int64_t size) const {
  return std::find_if(best_.begin(), best_.end(), [&](const Found& one) { return one.size == size; });
}

Count Best::moved(const Found& found) const {
  if (!found.into_blocks) found.into_blocks = bytes_of_(*found.row);
  return *found.into_blocks;
}

bool Best::is_before(const Found& a, const Found& b) const {
  if (a.time != b.time) return a.time < b.time;
  if (moved(a) != moved(b)) return moved(a) < moved(b);
  return a.predicted != b.predicted ? a.predicted < b.predicted : a.row->legal < b.row->legal;
}

bool Best::may_take(const Found& found) const {
  if (found.time > limit_) return false;
  const auto known = of_size(found.size);
  if (known != best_.end()) return is_before(found, *known);
  return best_.size() < most_ || is_before(found, best_.back());
}

void Best::take(const Found& found) {
  if (found.time <= above_ || !may_take(found)) return;
  if (const auto known = of_size(found.size); known != best_.end()) best_.erase(known);
  const auto before = [&](const Found& a, const Found& b) { return is_before(a, b); };
  best_.insert(std::upper_bound(best_.begin(), best_.end(), found, before), found);
  if (best_.size() > most_) best_.pop_back();
}

}  // namespace napkin::internal
