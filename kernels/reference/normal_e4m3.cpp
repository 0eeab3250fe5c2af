#include "kernels/reference/normal_e4m3.hpp"

#include <random>

#include "kernels/reference/reference.hpp"

namespace napkin::internal {

std::vector<std::uint8_t> normal_e4m3(std::int64_t count, std::uint64_t seed, double deviation) {
  std::vector<std::uint8_t> table(1 << 16), out(static_cast<std::size_t>(count));
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal(0, deviation);
  for (std::uint8_t& one : table)
    one = static_cast<std::uint8_t>(encode(static_cast<float>(normal(engine)), DType::e4m3));
  std::uint64_t state = seed;
  for (std::uint8_t& one : out) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    one = table[state >> 48];
  }
  return out;
}

}  // namespace napkin::internal
