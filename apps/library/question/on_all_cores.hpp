#pragma once
// on_all_cores calls a function with each number below a count, on as many threads as there are cores: select_many()
// selects for a thousand shapes in a part of the time. Internal to apps/.

#include <cstddef>
#include <functional>

namespace napkin {

/// Every call is made; so many are worth a thread of their own. Then the error of the least number is thrown.
void on_all_cores(std::size_t count, const std::function<void(std::size_t)>& call, std::size_t worth_a_thread = 8);

}  // namespace napkin
