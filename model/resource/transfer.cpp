// The first rule on the placed diagram: an array that changes colour moves once per group of every grouped axis that it
// lacks. (eq. 2.4)
#include <algorithm>

#include "model/mapping/compile/ways.hpp"
#include "model/resource/columns.hpp"
#include "model/resource/crossing_counts.hpp"
#include "model/resource/resources.hpp"
#include "model/resource/reuse.hpp"

namespace napkin::internal {

LevelGroups groups_for(const PlacedDiagram& placed, const LevelGroups& level, const Crossing& crossing) {
  const LevelGroups blocks{placed.block(), placed.walk};
  if (placed.in_parts(crossing) && &level.level < &blocks.level) return blocks;
  const bool cluster = placed.machine->levels[at(level.level.level)].kind == LevelKind::cross_transfer;
  return cluster && !placed.shared_by_cluster(crossing) ? blocks : level;
}

Bytes moved_by(const PlacedDiagram& placed, const PlacedLevel& level, const Crossing& crossing) {
  const Walk walk = walk_of(placed, level);
  const CrossingCounts counts(placed, crossing, groups_for(placed, {level, walk}, crossing));
  return bytes_of(counts.elements(), crossing.type);
}

namespace {

/// Returns the loads as the receiver's counter sees them; `moved` is clipped to the array.
Bytes delivered(const PlacedDiagram& placed, const Crossing& crossing, const CrossingCounts& counts, Bytes moved) {
  switch (crossing.engine) {
    case CopyEngine::tma: return counts.boxes();
    case CopyEngine::cp_async:
    case CopyEngine::plain:
      return counts.sectors(std::max(placed.machine->levels[at(crossing.into)].transaction, Count(1)));
    default: return moved;
  }
}

/// Returns the bytes of one part of every result, in the type in which it is kept: an output that a cut tile leaves in
/// parts.
Bytes part_bytes(const PlacedDiagram& placed) {
  const Diagram& d = placed.streamed->diagram;
  Bytes sum;
  for (const ArrayId output : d.outputs) {
    if (placed.streamed->stream && d.arrays[at(output)].has(*placed.streamed->stream)) continue;
    Count elements = 1;
    for (const AxisId axis : d.arrays[at(output)].axes) elements *= placed.problem->sizes[at(axis)];
    DType type = placed.problem->dtype;
    for (const Variable& v : placed.variables) {
      const bool holds = std::find(v.arrays.begin(), v.arrays.end(), output) != v.arrays.end();
      if (holds && !v.output_staging) type = v.type;
    }
    sum += bytes_of(ceil_div(elements, std::max(placed.blocks, Count(1))), type);
  }
  return sum;
}

/// Returns the memory that parts of a cut tile leave: the block's level, or the core's memory that their results leave.
LevelId parts_leave_from(const PlacedDiagram& placed) {
  if (!goes_ways(placed)) return placed.block().level;
  for (const Crossing& c : placed.crossings) {
    if (c.store && c.phase == Phase::tail && c.variable >= 0) return c.into;
  }
  return placed.block().level;
}

/// Returns the number of blocks of a cluster that divide the crossing's data equally.
Count shares_of(const PlacedDiagram& placed, const PlacedLevel& level, const Crossing& crossing) {
  const bool in_parts = level.level == placed.block().level && placed.divided(crossing);
  return in_parts ? std::max(placed.cluster, Count(1)) : Count(1);
}

bool has_axis(const PlacedDiagram& placed, const Crossing& crossing, AxisId axis) {
  const auto& axes = placed.axes_of(crossing);
  return axis >= 0 && std::find(axes.begin(), axes.end(), axis) != axes.end();
}

/// Returns the transfer into a level. `none` is an axis without elements, whose arrays move nothing.
LevelTransfer moved_into(const PlacedDiagram& placed, const PlacedLevel& level, AxisId none) {
  LevelTransfer sum;
  sum.level = level.level;
  sum.groups = level.groups;
  const Walk walk = walk_of(placed, level);
  for (const Crossing& crossing : placed.crossings) {
    if (crossing.into != level.level || has_axis(placed, crossing, none)) continue;
    const LevelGroups own{level, walk}, used = groups_for(placed, own, crossing);
    const CrossingCounts counts(placed, crossing, used);
    const Count parts = shares_of(placed, level, crossing), caches = caches_that_read(placed, level, crossing);
    const Bytes moved(bytes_of(counts.elements(), crossing.type).value / parts);
    (crossing.store ? sum.store : sum.load) += moved * caches;
    if (!crossing.store)
      sum.delivered += Bytes(delivered(placed, crossing, counts, moved * parts).value * caches / parts);
    // Data that move once a block move once for each block of a cluster.
    const Count times = &used.level != &own.level && !placed.in_parts(crossing) ? placed.cluster : Count(1);
    sum.transfer_per_group += Bytes(bytes_of(counts.per_group() * times, crossing.type).value / parts);
  }
  if (level.level == parts_leave_from(placed)) {
    const Bytes parts = cut_bytes(placed);
    sum.store += parts;
    // cores add parts to those in memory as they store them, so that none is loaded again
    if (!goes_ways(placed)) sum.load += parts, sum.delivered += parts;
  }
  return sum;
}

std::vector<LevelTransfer> moved_over(const PlacedDiagram& placed, AxisId none = -1) {
  std::vector<LevelTransfer> out;
  for (const PlacedLevel& level : placed.levels) out.push_back(moved_into(placed, level, none));
  return out;
}

/// Sums the transfers of a packed batch's sequences. At a level that does not divide the batch, a single group takes
/// all of them.
std::vector<LevelTransfer> moved_over_packed(const PlacedDiagram& placed) {
  std::vector<LevelTransfer> out(placed.levels.size());
  const std::size_t batch = at(placed.problem->packing.batch);
  for (const PackedPart& part : placed.packed) {
    const std::vector<LevelTransfer> moved = moved_over(part.placed, part.blank ? placed.problem->packing.columns : -1);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const bool divided = placed.levels[i].extent[batch] < placed.problem->sizes[batch];
      out[i].level = moved[i].level;
      out[i].groups = divided ? out[i].groups + moved[i].groups : std::max(out[i].groups, moved[i].groups);
      out[i].store += moved[i].store;
      if (part.blank) continue;
      out[i].load += moved[i].load;
      out[i].delivered += moved[i].delivered;
      Bytes& group = out[i].transfer_per_group;
      group = divided ? std::max(group, moved[i].transfer_per_group) : group + moved[i].transfer_per_group;
    }
  }
  return out;
}

}  // namespace

Bytes cut_bytes(const PlacedDiagram& placed) {
  const Count cuts = cut_tiles(placed);
  return cuts == Count(0) ? Bytes() : Bytes(part_bytes(placed).value * cuts);
}

std::vector<Bytes> moved_by_crossings(const PlacedDiagram& placed) {
  std::vector<Bytes> out(placed.crossings.size());
  for (const PackedPart& part : placed.packed) {
    const std::vector<Bytes> moved = moved_by_crossings(part.placed);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Crossing& crossing = placed.crossings[i];
      const bool nothing =
          part.blank && (!crossing.store || has_axis(placed, crossing, placed.problem->packing.columns));
      if (!nothing) out[i] += moved[i];
    }
  }
  if (!placed.packed.empty()) return out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Crossing& crossing = placed.crossings[i];
    const PlacedLevel* level = placed.find_level(crossing.into);
    if (level != nullptr)
      out[i] = Bytes(moved_by(placed, *level, crossing).value * caches_that_read(placed, *level, crossing) /
                     shares_of(placed, *level, crossing));
  }
  return out;
}

bool counts_rereads(const Machine& machine, LevelId id) {
  const Level& level = machine.levels[at(id)];
  return level.parent == 0 && level.kind == LevelKind::cache;
}

LevelTransfer transfer_into_blocks(const PlacedDiagram& placed) {
  if (placed.packed.empty()) return moved_into(placed, placed.block(), -1);
  const std::vector<LevelTransfer> moved = moved_over_packed(placed);
  return *std::find_if(moved.begin(), moved.end(),
                       [&](const LevelTransfer& one) { return one.level == placed.block().level; });
}

std::vector<LevelTransfer> transfers(const PlacedDiagram& placed, Rereads rereads) {
  std::vector<LevelTransfer> out = placed.packed.empty() ? moved_over(placed) : moved_over_packed(placed);
  if (rereads == Rereads::none) return out;
  for (LevelTransfer& moved : out) {
    if (!counts_rereads(*placed.machine, moved.level)) continue;
    const Bytes once = moved.delivered;
    const bool known = l2_model(*placed.machine).bytes > 0;
    const Count blocks = known ? plan(placed).blocks_per_sm : Count(1);
    moved.delivered = once + reread_bytes(placed, blocks);
    if (rereads == Rereads::spread && known)
      moved.delivered_apart = std::max(moved.delivered, once + reread_bytes(placed, blocks, Pace::apart));
  }
  return out;
}

double hit_rate(const LevelTransfer& below, Bytes delivered) {
  const double asked = real(below.load.value) + real(below.store.value);
  return asked > 0 ? std::clamp(1 - real(delivered.value) / asked, 0.0, 1.0) : 1;
}

}  // namespace napkin::internal
