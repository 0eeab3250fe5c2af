#pragma once
// A Stopwatch measures the host time since it was constructed: while (watch.seconds() < 0.1) launch();

#include <chrono>

namespace napkin::internal {

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace napkin::internal
