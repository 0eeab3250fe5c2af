// The number of caches that read the same data, if blocks have several caches above them: of eight dies with an L2
// each, every die reads once what its blocks share.
#include <algorithm>
#include <bit>
#include <cstdint>

#include "model/resource/crossing_counts.hpp"

namespace napkin::internal {
namespace {

constexpr std::int64_t most_told_apart = 64;  // most caches, since a word has a bit for each

/// Returns the set of numbers modulo `caches` that `from` reaches by up to `times` - 1 steps of that length.
std::uint64_t reached(std::uint64_t from, std::int64_t step, std::int64_t times, std::int64_t caches) {
  std::uint64_t out = 0;
  for (std::int64_t k = 0; k < std::min(times, caches); ++k) {
    const std::int64_t by = k * (step % caches) % caches;
    for (std::int64_t cache = 0; cache < caches; ++cache) {
      if ((from >> static_cast<unsigned>(cache) & 1U) != 0) out |= std::uint64_t{1} << ((cache + by) % caches);
    }
  }
  return out;
}

bool goes_by_rows(BlockOrder order) { return order == BlockOrder::grid || order == BlockOrder::persistent; }

}  // namespace

Count caches_that_read(const PlacedDiagram& placed, const PlacedLevel& level, const Crossing& crossing) {
  // Blocks go to the caches in turn. Blocks that read the same piece differ in the axes that it lacks.
  const Machine& machine = *placed.machine;
  const Level& cache = machine.levels[at(level.level)];
  const std::int64_t caches = machine.nodes(level.level).get();
  const bool above = &level >= placed.levels.data() && &level < &placed.block();
  if (cache.kind != LevelKind::cache || caches == 1 || crossing.store || !above || placed.mapping->exact_groups)
    return 1;
  const BlockSequence blocks(placed);
  const std::vector<AxisId>& own = placed.axes_of(crossing);
  std::uint64_t read_by = 1;
  Count step = 1, sharers = 1;
  for (auto axis = blocks.axes().rbegin(); axis != blocks.axes().rend(); ++axis) {
    const Count groups = placed.block().groups_of[at(*axis)];
    if (std::find(own.begin(), own.end(), *axis) == own.end()) {
      sharers *= groups;
      if (caches <= most_told_apart) read_by = reached(read_by, step.get(), groups.get(), caches);
    }
    step *= groups;
  }
  if (caches > most_told_apart || !goes_by_rows(blocks.order())) return std::min(sharers, Count(caches));
  return std::popcount(read_by);
}

}  // namespace napkin::internal
