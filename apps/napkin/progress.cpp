#include "apps/napkin/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace napkin::internal::cli {
namespace {

std::string duration_text(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace

std::string progress_text(const std::string& what, std::size_t done, std::size_t steps, double seconds,
                          const std::string& now) {
  constexpr std::size_t width = 20;
  const std::size_t filled = steps == 0 ? width : std::min(width, width * done / steps);
  std::string text =
      fmt::format("{} [{}{}] {} of {}", what, std::string(filled, '#'), std::string(width - filled, '.'), done, steps);
  if (done > 0 && done < steps) {
    text += ", " + duration_text(seconds / static_cast<double>(done) * static_cast<double>(steps - done)) + " left";
  }
  return now.empty() ? text : text + ": " + now;
}

std::function<void(std::int64_t, std::int64_t)> following(Progress& progress, std::string what) {
  return [&progress, what = std::move(what), begun = false](std::int64_t done, std::int64_t total) mutable {
    if (!begun) progress.begin(what, static_cast<std::size_t>(total));
    begun = true;
    progress.show(static_cast<std::size_t>(done), "");
  };
}

std::string waiting_text(const std::string& what, double seconds) {
  return what + ": at work, " + duration_text(seconds);
}

Waiting::Waiting(std::string what) : what_(std::move(what)) {
  if (isatty(STDERR_FILENO) == 1) thread_ = std::thread([this] { run(); });
}

Waiting::~Waiting() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  over_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (on_line_) std::fprintf(stderr, "\r\033[K");
}

void Waiting::run() {
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  std::chrono::milliseconds pause(2000);
  while (!over_.wait_for(lock, pause, [&] { return ended_; })) {
    pause = std::chrono::milliseconds(500);
    if (Progress::any_shown) continue;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::fprintf(stderr, "\r%s\033[K", waiting_text(what_, seconds).c_str());
    std::fflush(stderr);
    on_line_ = true;
  }
}

std::atomic<bool> Progress::any_shown{false};

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1), start_(Clock::now()), shown_(start_) {}

void Progress::begin(std::string what, std::size_t steps) {
  what_ = std::move(what);
  steps_ = steps;
  done_ = 0;
  start_ = Clock::now();
  show(0, "");
}

void Progress::step(const std::string& now) { show(done_ + 1, now); }

void Progress::show(std::size_t done, const std::string& now) {
  done_ = done;
  const Clock::time_point at = Clock::now();
  if (!terminal_ || (at - shown_ < std::chrono::milliseconds(100) && done < steps_)) return;
  shown_ = at;
  on_line_ = any_shown = true;
  const double seconds = std::chrono::duration<double>(at - start_).count();
  std::fprintf(stderr, "\r%s\033[K", progress_text(what_, done, steps_, seconds, now).substr(0, 110).c_str());
  std::fflush(stderr);
}

void Progress::clear() {
  if (on_line_) std::fprintf(stderr, "\r\033[K");
  on_line_ = false;
}

}  // namespace napkin::internal::cli
