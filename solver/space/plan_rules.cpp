// The constraints that need a tile's plan: registers, shared memory, the memories of cores.

#include "model/mapping/compile/ways.hpp"
#include "model/resource/resources.hpp"
#include "solver/space/rule_terms.hpp"

namespace napkin::internal {
namespace {

Count registers_in_granules(const Limits& limits, Count registers, Count threads) {
  const Count warps = round_up(ceil_div(threads, limits.warp_size), limits.schedulers);
  return round_up(registers * limits.warp_size, limits.register_granule_per_warp) * warps;
}

}  // namespace

std::optional<Excess> check_registers(const PlacedDiagram&, const Plan& plan) {
  return compare(Relation::Kind::at_most, plan.registers_per_thread, plan.registers_limit);
}

std::optional<Excess> check_register_file(const PlacedDiagram& placed, const Plan& plan) {
  const Limits& limits = placed.machine->limits;
  if (!limits.known) return std::nullopt;
  return compare(Relation::Kind::at_most, registers_in_granules(limits, plan.registers_launch, plan.threads),
                 limits.registers_per_block);
}

std::optional<Excess> check_shared_memory(const PlacedDiagram&, const Plan& plan) {
  return compare(Relation::Kind::at_most, plan.shared_total.value, plan.shared_limit.value);
}

namespace {

/// Returns the excess of the level that is overfilled most, by ratio, among those for which counts(level) is true.
template <class Counts>
std::optional<Excess> fullest(const PlacedDiagram& placed, const Counts& counts) {
  std::optional<Excess> worst;
  for (const LevelMemory& m : memories(placed)) {
    if (!counts(m.level) || !m.limit || m.allocated <= *m.limit) continue;
    const Excess one{real(m.allocated.value), real(m.limit->value)};
    if (!worst || one.needed / one.available > worst->needed / worst->available) worst = one;
  }
  return worst;
}

}  // namespace

std::optional<Excess> check_core_memory(const PlacedDiagram& placed, const Plan&) {
  return fullest(placed, [&](LevelId level) { return placed.machine->core_of(level) != nullptr; });
}

std::optional<Excess> check_side_memory(const PlacedDiagram& placed, const Plan&) {
  return fullest(placed, [&](LevelId level) { return is_beside(placed, level); });
}

}  // namespace napkin::internal
