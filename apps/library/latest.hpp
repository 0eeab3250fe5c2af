#pragma once
// Values by key, of which those used last are kept. Internal to apps/.

#include <cstddef>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace napkin {

template <class Value>
class Latest {
 public:
  explicit Latest(std::size_t most) : most_(most) {}

  /// nullptr: not kept. Valid until the next put().
  [[nodiscard]] Value* find(std::string_view key) {
    const auto known = by_key_.find(key);
    if (known == by_key_.end()) return nullptr;
    values_.splice(values_.begin(), values_, known->second);
    return &known->second->second;
  }
  /// In the place of the key's value, or of the one used longest ago.
  Value& put(const std::string& key, Value value) {
    if (Value* known = find(key)) return *known = std::move(value);
    values_.emplace_front(key, std::move(value));
    by_key_.emplace(values_.front().first, values_.begin());
    if (values_.size() > most_) {
      by_key_.erase(values_.back().first);
      values_.pop_back();
    }
    return values_.front().second;
  }

 private:
  std::size_t most_;
  std::list<std::pair<std::string, Value>> values_;  // latest first
  std::map<std::string_view, typename std::list<std::pair<std::string, Value>>::iterator>
      by_key_;  // the keys lie in values_
};

}  // namespace napkin
