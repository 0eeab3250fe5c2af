#pragma once
// A Watchdog ends the program where a kernel hangs: a launch cannot be cancelled, but its process can be ended.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace napkin::internal::cli {

class Watchdog {
 public:
  /// Starts the watchdog. `record` is a file that gets the key of a hanging run ("": none); `advice` is printed then.
  Watchdog(std::chrono::seconds patience, std::string record, std::string advice);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Watches a run from now on, which must end in time.
  void watch(std::string key, std::string name);
  void rest();

 private:
  void run();
  [[noreturn]] void bite() const;

  std::chrono::seconds patience_;
  std::string record_, advice_, key_, name_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<std::chrono::steady_clock::time_point> until_;
  bool over_ = false;
  std::thread thread_;
};

/// Returns the file beside that --out file which keeps the keys of hanging runs; has_hung() looks for a key in it.
[[nodiscard]] std::string hung_file(const std::string& out);
[[nodiscard]] bool has_hung(const std::string& file, const std::string& key);

}  // namespace napkin::internal::cli
