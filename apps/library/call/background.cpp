#include "apps/library/call/background.hpp"

#include <cstdlib>
#include <exception>
#include <string_view>
#include <utility>

namespace napkin::internal {

bool selects_in_background() {
  const char* value = std::getenv("NAPKIN_BACKGROUND");  // NOLINT(concurrency-mt-unsafe): read once a GPU
  return value != nullptr && std::string_view(value) == "1";
}

std::shared_ptr<Coming> Background::begin(Work work) {
  auto coming = std::make_shared<Coming>();
  const std::lock_guard lock(mutex_);
  if (stopped_) {
    coming->done_.store(true, std::memory_order_release);
    return coming;
  }
  waiting_.emplace_back(std::move(work), coming);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_one();
  return coming;
}

void Background::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

void Background::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopped_ || !waiting_.empty(); });
    if (stopped_) return;
    auto [work, coming] = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    try {
      coming->selected_ = work();
    } catch (const std::exception&) {  // the call that selects for itself reports it
    }
    coming->done_.store(true, std::memory_order_release);
    lock.lock();
  }
}

}  // namespace napkin::internal
