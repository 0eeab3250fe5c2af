#include "solver/select/best.hpp"

#include <algorithm>
#include <limits>

namespace napkin::internal {
namespace {

constexpr double forever = std::numeric_limits<double>::infinity();

}  // namespace

/// Returns the longest time that the runner-up can still have.
double Best::second_time() const {
  if (!runner_up_) return 0;
  return second_.row == nullptr ? forever : second_.time;
}

double Best::enough() const {
  return best_.size() < most_ ? limit_ : std::min(limit_, std::max(best_.back().time, second_time()));
}

double Best::enough(std::int64_t size) const {
  const auto of_size = std::find_if(best_.begin(), best_.end(), [&](const Found& one) { return one.size == size; });
  return of_size == best_.end() ? enough() : std::min(limit_, std::max(of_size->time, second_time()));
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
  if (runner_up_ && (second_.row == nullptr || is_before(found, second_))) return true;
  const auto of_size =
      std::find_if(best_.begin(), best_.end(), [&](const Found& one) { return one.size == found.size; });
  if (of_size != best_.end()) return is_before(found, *of_size);
  return best_.size() < most_ || is_before(found, best_.back());
}

void Best::take(const Found& found) {
  if (runner_up_) take_second(found);
  const auto of_size =
      std::find_if(best_.begin(), best_.end(), [&](const Found& one) { return one.size == found.size; });
  if (of_size != best_.end()) {
    if (!is_before(found, *of_size)) return;
    best_.erase(of_size);
  }
  const auto before = [&](const Found& a, const Found& b) { return is_before(a, b); };
  best_.insert(std::upper_bound(best_.begin(), best_.end(), found, before), found);
  if (best_.size() > most_) best_.pop_back();
}

/// Updates the runner-up before `found` enters best_, whose first tile is the best of all.
void Best::take_second(const Found& found) {
  if (best_.empty() || found.time == best_.front().time) return;
  if (found.time < best_.front().time)
    second_ = best_.front();
  else if (second_.row == nullptr || is_before(found, second_))
    second_ = found;
}

}  // namespace napkin::internal
