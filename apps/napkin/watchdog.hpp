#pragma once
// A Watchdog ends the program where a kernel hangs: a launch cannot be called back, only its process can.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace napkin::cli {

class Watchdog {
 public:
  /// `record`: a file that gets a line with the key of what hung; "": none. `advice`: what is told then.
  Watchdog(std::chrono::seconds patience, std::string record, std::string advice);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// From now on that has to end in time.
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

/// Where what hung beside that --out file is kept; and the keys in it.
[[nodiscard]] std::string hung_file(const std::string& out);
[[nodiscard]] bool has_hung(const std::string& file, const std::string& key);

}  // namespace napkin::cli
