#pragma once
// on_all_cores calls a function with each number below a count, on as many threads as there are cores: select_many()
// selects for a thousand shapes in a part of the time. Internal to apps/.

#include <cstddef>
#include <functional>

namespace napkin::internal {

/// Calls `call` for each number below `count`, one thread for every `worth_a_thread` calls. Throws the error of the
/// least number after all calls were made.
void on_all_cores(std::size_t count, const std::function<void(std::size_t)>& call, std::size_t worth_a_thread = 8);

}  // namespace napkin::internal
