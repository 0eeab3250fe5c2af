#pragma once
// Latest keeps a bounded number of values by key and forgets the one used longest ago: 1024 launch plans, say, each by
// its call's key. Not for several threads at once.

#include <cstddef>
#include <functional>
#include <list>
#include <unordered_map>
#include <utility>

namespace napkin::internal {

/// The values used latest, by key, up to a limit. `Hash` and `Equal` may take other types than Key; find() then takes
/// those types too.
template <class Key, class Value, class Hash = std::hash<Key>, class Equal = std::equal_to<>>
class Latest {
 public:
  explicit Latest(std::size_t most) : most_(most) {}

  /// Finds the value of a key; nullptr if it is not kept. Valid until the next put().
  template <class Like>
  [[nodiscard]] Value* find(const Like& like) {
    const auto known = position(like);
    if (known == by_hash_.end()) return nullptr;
    values_.splice(values_.begin(), values_, known->second);
    return &known->second->second;
  }
  /// Puts a value in place of the key's, or of the one used longest ago.
  Value& put(Key key, Value value) {
    if (Value* known = find(key)) return *known = std::move(value);
    const std::size_t hash = Hash{}(key);
    values_.emplace_front(std::move(key), std::move(value));
    by_hash_.emplace(hash, values_.begin());
    if (values_.size() > most_) {
      by_hash_.erase(position(values_.back().first));
      values_.pop_back();
    }
    return values_.front().second;
  }

 private:
  using Values = std::list<std::pair<Key, Value>>;  // the latest first
  using ByHash = std::unordered_multimap<std::size_t, typename Values::iterator>;

  template <class Like>
  [[nodiscard]] typename ByHash::iterator position(const Like& like) {
    const auto [first, last] = by_hash_.equal_range(Hash{}(like));
    for (auto at = first; at != last; ++at) {
      if (Equal{}(at->second->first, like)) return at;
    }
    return by_hash_.end();
  }

  std::size_t most_;
  Values values_;
  ByHash by_hash_;
};

}  // namespace napkin::internal
