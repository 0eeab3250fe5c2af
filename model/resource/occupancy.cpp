// The number of blocks of a kernel that one node holds at a time.

#include <limits>

#include "model/resource/plan.hpp"

namespace napkin::internal {
namespace {

Bytes limit_of(const Level& level, bool node) {
  if (!node && level.per_block) return Bytes(static_cast<std::int64_t>(level.per_block->value));
  if (level.capacity.known()) return Bytes(static_cast<std::int64_t>(level.capacity.best().value));
  return Bytes(std::numeric_limits<std::int64_t>::max());
}

const Level& block_level(const PlacedDiagram& placed) {
  return placed.machine->levels[static_cast<std::size_t>(placed.block().level)];
}

}  // namespace

Occupancy occupancy(const Limits& limits, Bytes node_shared, Count threads, Count registers, Bytes shared) {
  if (!limits.known) return {1, ""};
  const Count warps = ceil_div(std::max(threads, Count(1)), limits.warp_size);
  const Count warp_registers =
      round_up(std::max(registers, Count(1)) * limits.warp_size, limits.register_granule_per_warp);
  const Count block_shared = round_up(shared.value + limits.shared_reserved_per_block, limits.shared_granule);
  Count by_registers = limits.registers_per_node / limits.schedulers / warp_registers * limits.schedulers / warps;
  if (warp_registers * round_up(warps, limits.schedulers) > limits.registers_per_block ||
      registers > round_up(limits.registers_per_thread, limits.register_granule_per_thread)) {
    by_registers = 0;
  }
  Count by_threads = std::min(limits.threads_per_node / (warps * limits.warp_size), limits.warps_per_node / warps);
  if (threads > limits.threads_per_block) by_threads = 0;
  Occupancy out{block_shared.get() > 0 ? node_shared.value / block_shared : limits.blocks_per_node, "shared memory"};
  if (by_registers < out.blocks) out = {by_registers, "registers"};
  if (by_threads < out.blocks) out = {by_threads, "threads"};
  if (limits.blocks_per_node < out.blocks) out = {limits.blocks_per_node, "blocks"};
  return out;
}

Bytes shared_limit(const PlacedDiagram& placed) { return limit_of(block_level(placed), false); }

Occupancy occupancy(const PlacedDiagram& placed, Count registers, Bytes shared) {
  if (shared > shared_limit(placed)) return {0, "shared memory"};
  return occupancy(placed.machine->limits, limit_of(block_level(placed), true), placed.threads, registers, shared);
}

Occupancy occupancy(const PlacedDiagram& placed) {
  return occupancy(placed, launch_registers(placed), shared_bytes(placed));
}

}  // namespace napkin::internal
