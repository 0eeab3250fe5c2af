#pragma once
// Progress shows the progress of a long command in a line on a terminal: "groups run [####....] 12 of 20, 3 s left". It
// is silent where stderr is no terminal.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace napkin::internal::cli {

class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Begins work of that many steps; the time left is estimated from those that are done.
  void begin(std::string what, std::size_t steps);
  void step(const std::string& now);
  void show(std::size_t done, const std::string& now);
  /// Shows an event that is no step.
  void note(const std::string& now) { show(done_, now); }
  /// Clears the line.
  void clear();

 private:
  friend class Waiting;
  using Clock = std::chrono::steady_clock;
  static std::atomic<bool> any_shown;
  bool terminal_ = false;
  bool on_line_ = false;
  std::string what_;
  std::size_t steps_ = 0, done_ = 0;
  Clock::time_point start_, shown_;
};

/// A message on a terminal, after two seconds, that a command without progress of its own is still at work.
class Waiting {
 public:
  explicit Waiting(std::string what);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  void run();

  std::string what_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool ended_ = false, on_line_ = false;
  std::thread thread_;
};

/// Writes "napkin select: at work, 3 s". Pure.
[[nodiscard]] std::string waiting_text(const std::string& what, double seconds);

/// Shows the groups that a run has done. The progress must outlive the run.
[[nodiscard]] std::function<void(std::int64_t done, std::int64_t total)> following(Progress& progress,
                                                                                   std::string what);

/// Writes "[######....] 12 of 20, 1 min 20 s left: q=128". Pure.
[[nodiscard]] std::string progress_text(const std::string& what, std::size_t done, std::size_t steps, double seconds,
                                        const std::string& now);

}  // namespace napkin::internal::cli
