#pragma once
// normal_e4m3 makes random inputs of e4m3: a hundred million normal numbers in a second, out of a table that a seed
// makes.

#include <cstdint>
#include <vector>

namespace napkin::internal {

/// Returns `count` numbers as bytes, always the same for a seed.
[[nodiscard]] std::vector<std::uint8_t> normal_e4m3(std::int64_t count, std::uint64_t seed, double deviation);

}  // namespace napkin::internal
