#pragma once
// Background selects and compiles a tile in a thread of its own. A call with a new sequence length launches at once
// with a tile that was selected for another length, until its own tile is ready. Internal to apps/.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "apps/library/call/selected.hpp"

namespace napkin::internal {

/// Returns true if NAPKIN_BACKGROUND is 1: calls with new sequence lengths then do not wait until a tile is selected
/// for them.
[[nodiscard]] bool selects_in_background();

/// A selection that a background thread makes.
class Coming {
 public:
  [[nodiscard]] bool done() const { return done_.load(std::memory_order_acquire); }
  /// Returns the selection, once done() is true; nullptr if it failed.
  [[nodiscard]] std::unique_ptr<Selected> take() { return std::move(selected_); }

 private:
  friend class Background;
  std::unique_ptr<Selected> selected_;
  std::atomic<bool> done_ = false;
};

/// A thread that does work in the order in which it was asked for. It starts with the first work.
class Background {
 public:
  using Work = std::function<std::unique_ptr<Selected>()>;

  Background() = default;
  /// Finishes the work that has begun, and drops the rest.
  ~Background() { stop(); }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  [[nodiscard]] std::shared_ptr<Coming> begin(Work work);
  /// Finishes the work that has begun, and drops the rest; later work fails.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<Work, std::shared_ptr<Coming>>> waiting_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace napkin::internal
