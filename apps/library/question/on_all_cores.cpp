#include "apps/library/question/on_all_cores.hpp"

#include <algorithm>
#include <thread>

#include "model/base/parallel.hpp"

namespace napkin::internal {

void on_all_cores(std::size_t count, const std::function<void(std::size_t)>& call, std::size_t worth_a_thread) {
  parallel_for(count, std::min<std::size_t>(std::thread::hardware_concurrency(), count / worth_a_thread), call);
}

}  // namespace napkin::internal
