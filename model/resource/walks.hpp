#pragma once
// Walks finds the running blocks that touch the same streamed pieces at the same steps: 8 query heads that read one key
// head's keys are one walk, and one block of it touches for all. Internal to resource/.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "model/resource/touches.hpp"

namespace napkin::internal {

/// The walks of running blocks, as many as slots at most, so that the table fits the processor's first caches.
class Walks {
 public:
  struct Walk {
    std::int64_t step = -1;  ///< step in which a block of it last touched
    std::size_t blocks = 0;  ///< blocks that joined and have not left
    std::size_t leader = 0;  ///< slot whose block touched last
  };

  /// Prepares the table; `facts` is the number of values that decide a block's walk.
  Walks(std::size_t slots, std::size_t facts)
      : facts_(facts),
        first_(std::bit_ceil(2 * slots), none),
        next_(slots),
        bucket_(slots),
        keys_(slots * facts),
        walks_(slots),
        members_(slots, slots) {
    for (std::size_t w = slots; w-- > 0;) free_.push_back(w);
  }
  [[nodiscard]] Walk& operator[](std::size_t walk) { return walks_[walk]; }
  /// Returns the slots of the blocks of a walk.
  [[nodiscard]] Slots members(std::size_t walk) { return members_[walk]; }

  /// Joins a slot's block to the walk with those facts, at most a block for each slot at a time. Returns the walk.
  std::size_t join(const std::vector<std::uint64_t>& facts, std::size_t slot) {
    std::uint64_t hash = 0;
    for (const std::uint64_t fact : facts) hash = std::rotl((hash ^ fact) * 0x9E3779B97F4A7C15U, 29);
    const std::size_t bucket = hash & (first_.size() - 1);
    std::size_t walk = first_[bucket];
    while (walk != none && !std::equal(facts.begin(), facts.end(), keys_of(walk))) walk = next_[walk];
    if (walk == none) {
      walk = free_.back();
      free_.pop_back();
      std::copy(facts.begin(), facts.end(), keys_of(walk));
      walks_[walk].step = -1;
      walks_[walk].leader = 0;
      bucket_[walk] = bucket;
      next_[walk] = first_[bucket];
      first_[bucket] = walk;
    }
    ++walks_[walk].blocks;
    members_[walk].put(slot);
    return walk;
  }

  /// Removes a slot's block from the walk. Returns true if others are left.
  bool leave(std::size_t walk, std::size_t slot) {
    members_[walk].drop(slot);
    if (--walks_[walk].blocks > 0) return true;
    std::size_t* link = &first_[bucket_[walk]];
    while (*link != walk) link = &next_[*link];
    *link = next_[walk];
    free_.push_back(walk);
    return false;
  }

 private:
  static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
  std::vector<std::uint64_t>::iterator keys_of(std::size_t walk) {
    return keys_.begin() + static_cast<std::ptrdiff_t>(walk * facts_);
  }

  std::size_t facts_;
  std::vector<std::size_t> first_, next_;  // hash chains: each bucket's first walk, each walk's next walk
  std::vector<std::size_t> bucket_;        // bucket of each walk
  std::vector<std::uint64_t> keys_;        // facts of each walk
  std::vector<Walk> walks_;
  SetsOfSlots members_;  // slots by walk
  std::vector<std::size_t> free_;
};

}  // namespace napkin::internal
