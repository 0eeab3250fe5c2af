#pragma once
// parallel_for runs a function for each number below a count, on several threads: a thousand tiles are compiled on all
// cores, each as soon as a core is free.

#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace napkin::internal {

/// Makes every call, then throws the error of the call with the least number. For at most one thread, the caller makes
/// the calls in order.
template <class Call>
void parallel_for(std::size_t count, std::size_t threads, const Call& call) {
  std::vector<std::exception_ptr> errors(count);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        call(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < threads && i < count; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace napkin::internal
