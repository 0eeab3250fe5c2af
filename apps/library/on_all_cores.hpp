#pragma once
// on_all_cores calls a function with each number below a count, on as many threads as there are cores: select_many()
// selects for a thousand shapes in a part of the time. Internal to apps/.

#include <cstddef>
#include <functional>

namespace napkin {

/// Every call is made. Then the error of the least number is thrown.
void on_all_cores(std::size_t count, const std::function<void(std::size_t)>& call);

}  // namespace napkin
