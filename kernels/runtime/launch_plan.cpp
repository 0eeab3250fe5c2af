#include "kernels/runtime/launch_plan.hpp"

#include <bit>
#include <limits>

namespace napkin::internal {

LaunchDevice launch_device(const Machine& machine) {
  LaunchDevice device;
  device.sms = to_int(machine.compute_nodes(), "SMs");
  const auto l2 = machine.find_level("l2");
  if (l2) {
    const Stated& capacity = machine.levels[static_cast<std::size_t>(*l2)].capacity;
    if (capacity.known()) device.l2 = Bytes(count_of(capacity.best()));
  }
  return device;
}

Divisor divisor(std::int64_t value) {
  if (value < 1 || value > std::numeric_limits<int>::max()) throw Overflow("a divisor of the kernel's");
  if (value == 1) return {1, 0, 0};
  const auto v = static_cast<std::uint64_t>(value);
  const int log2 = static_cast<int>(std::bit_width(v - 1));  // ceil
  const std::uint64_t power = std::uint64_t{1} << (31 + log2);
  return {static_cast<int>(value), static_cast<unsigned>((power + v - 1) / v), static_cast<unsigned>(log2 - 1)};
}

int to_int(Count count, const std::string& what) {
  if (count.get() < 0 || count.get() > std::numeric_limits<int>::max()) throw Overflow(what);
  return static_cast<int>(count.get());
}

}  // namespace napkin::internal
