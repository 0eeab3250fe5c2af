#pragma once
// A Pool lends objects that take long to make, each to one caller at a time, so that no caller waits for another.

#include <algorithm>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

namespace napkin::internal {

/// Safe from several threads.
template <class T>
class Pool {
 public:
  /// Keeps at most so many, those given back last.
  explicit Pool(std::size_t most) : most_(most) {}
  /// Takes out the one that was given back last, of those that fit(object); nullptr if there is none.
  template <class Fit>
  [[nodiscard]] std::unique_ptr<T> take(const Fit& fit) {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(kept_.begin(), kept_.end(), [&](const auto& one) { return fit(*one); });
    if (found == kept_.end()) return nullptr;
    std::unique_ptr<T> out = std::move(*found);
    kept_.erase(found);
    return out;
  }
  void give_back(std::unique_ptr<T> one) {
    const std::lock_guard lock(mutex_);
    kept_.push_front(std::move(one));
    if (kept_.size() > most_) kept_.pop_back();
  }

 private:
  std::size_t most_;
  std::mutex mutex_;
  std::list<std::unique_ptr<T>> kept_;  // latest first
};

}  // namespace napkin::internal
