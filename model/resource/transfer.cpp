// The first rule on the placed diagram: an array that changes colour moves once per group of every grouped axis that it
// lacks. (eq. 2.4)
#include <algorithm>
#include <cstdint>

#include "model/diagram/reindex.hpp"
#include "model/mapping/ways.hpp"
#include "model/resource/boxes.hpp"
#include "model/resource/order.hpp"
#include "model/resource/resources.hpp"
#include "model/resource/reuse.hpp"

namespace napkin {
namespace {

/// How elements are counted along tiled axes.
enum class Ragged {
  clipped,  ///< to the array
  whole,    ///< the last, ragged tile in full: the copy engine's boxes
};

/// The groups of one level, and how they walk the streamed axis.
struct Groups {
  const PlacedLevel& level;
  const Walk& walk;
};

/// One crossing at one level.
class Mover {
 public:
  Mover(const PlacedDiagram& placed, const Crossing& crossing, const Groups& groups)
      : p_(placed),
        s_(*placed.streamed),
        c_(crossing),
        l_(groups.level),
        w_(groups.walk),
        axes_(placed.axes_of(crossing)) {
    for (const AxisId axis : axes_) has_ |= std::uint64_t{1} << axis;  // Placer takes 64 axes at most
    if (c_.array >= 0 && napkin::is_shifted(s_.diagram.arrays[at(c_.array)])) array_ = &s_.diagram.arrays[at(c_.array)];
    streams_ = s_.stream && has(*s_.stream);
    walks_ = c_.phase == Phase::loop && s_.stream && (streams_ || c_.reread);
    masked_ = walks_ && c_.skips && p_.across.has_value();
  }

  /// Clipped to the array.
  [[nodiscard]] Count elements() const {
    Count out = rows(Ragged::clipped, std::nullopt);
    if (!(walks_ && is_shifted(*s_.stream))) out *= walked(Ragged::clipped);
    return array_ == nullptr ? out
                             : out * shifted_values(
                                         *array_, p_.problem->sizes, [this](AxisId axis) { return group_of(axis); },
                                         [this](AxisId axis) { return chunk_of(axis); });
  }

  /// Rows of the unit-stride axis in whole sectors of that many bytes, everything else clipped.
  [[nodiscard]] Bytes sectors(Count transaction) const {
    if (axes_.empty()) return Bytes(round_up(bytes_of(1, c_.type).value, transaction));
    const AxisId last = axes_.back();
    const auto stored = [&](Count n) { return round_up(bytes_of(n, c_.type).value, transaction); };
    if (walks_ && streams_ && last == *s_.stream) {
      // Each visited chunk of each row is a piece; those at the end of the array are shorter.
      const Count chunks = walked_chunks(), ragged = chunks * l_.chunk - walked(Ragged::clipped);
      const Count rest = p_.problem->sizes[at(last)] % l_.chunk;
      const Count short_pieces = rest == Count(0) ? Count(0) : ragged / (l_.chunk - rest);
      return Bytes(rows(Ragged::clipped, std::nullopt) *
                   ((chunks - short_pieces) * stored(l_.chunk) + short_pieces * stored(rest)));
    }
    const Count size = p_.problem->sizes[at(last)], tile = std::min(l_.extent[at(last)], size);
    const Count row = size / tile * stored(tile) + (size % tile == Count(0) ? Count(0) : stored(size % tile));
    if (masked_ && last == *p_.across) {
      const Count rest = size - (w_.total.row_groups - Count(1)) * w_.across;
      const Count rows_of_last = c_.reread && !streams_ ? w_.last_chunks * sub_chunks() : w_.last_columns;
      const Count rows_of_all = c_.reread && !streams_ ? w_.total.chunks * sub_chunks() : w_.total.columns;
      return Bytes(rows(Ragged::clipped, std::nullopt) *
                   ((rows_of_all - rows_of_last) * stored(w_.across) + rows_of_last * stored(rest)));
    }
    return Bytes(rows(Ragged::clipped, last) * walked(Ragged::clipped) * row);
  }

  /// Tiles of the unit-stride axis in boxes, what is beside the array too. Where a mask visits rows, or the boxes of a
  /// row, unequally often, they count like the mean one.
  [[nodiscard]] Bytes boxes() const {
    if (axes_.empty()) return bytes_of(1, c_.type);
    const AxisId last = axes_.back();
    const bool streamed = walks_ && streams_ && last == *s_.stream;
    const Count tile = streamed ? p_.block().chunk : p_.block().extent[at(last)];
    const Count tiles = streamed ? w_.all_chunks : p_.block().groups_of[at(last)];
    const auto tile_rows = [&](Ragged ragged) {
      const Count along = in_walk(last) ? walked(Ragged::whole) / tile : walked(ragged) * tiles;
      return rows(ragged, last) * along;
    };
    const Count inside = tile_rows(Ragged::clipped), all = tile_rows(Ragged::whole);
    Count array_rows = 1;
    for (const AxisId axis : axes_) array_rows *= axis == last ? Count(1) : size_of(axis);
    const BoxedRows boxed(bytes_of(size_of(last), c_.type).value, bytes_of(tile, c_.type).value, tiles,
                          p_.multicast(c_));
    return Bytes(boxed.inside(inside, array_rows) + (all - inside) * boxed.outside());
  }

  /// Of one full group that sees every chunk.
  [[nodiscard]] Count per_group() const {
    Count out = 1;
    for (const AxisId axis : axes_)
      out *= is_shifted(axis) ? Count(1) : std::min(l_.extent[at(axis)], p_.problem->sizes[at(axis)]);
    if (array_ != nullptr)
      out *= shifted_values_of_group(
          *array_, [this](AxisId axis) { return group_of(axis); }, [this](AxisId axis) { return chunk_of(axis); });
    if (c_.reread) out *= sub_chunks() * ceil_div(std::min(part(), size_of(*s_.stream)), p_.block().chunk);
    return out;
  }

 private:
  [[nodiscard]] bool has(AxisId axis) const { return (has_ >> axis & 1) != 0; }
  [[nodiscard]] bool is_shifted(AxisId axis) const { return array_ != nullptr && napkin::is_shifted(*array_, axis); }
  /// What an axis is cut into at this level; a level above the block's takes its part at once.
  [[nodiscard]] Count group_of(AxisId axis) const { return std::min(l_.extent[at(axis)], size_of(axis)); }
  [[nodiscard]] Count chunk_of(AxisId axis) const {
    const bool chunks = walks_ && axis == *s_.stream && &l_ >= &p_.block();
    return chunks ? std::min(l_.chunk, group_of(axis)) : group_of(axis);
  }
  [[nodiscard]] Count size_of(AxisId axis) const { return p_.problem->sizes[at(axis)]; }
  [[nodiscard]] Count part() const { return p_.block().extent[at(*s_.stream)]; }

  /// Everything but the streamed axis and, where the mask skips chunks, the axis across; `but` is left out too.
  [[nodiscard]] Count rows(Ragged ragged, std::optional<AxisId> but) const {
    Count out = 1;
    for (const AxisId axis : axes_) {
      if (in_walk(axis) || axis == but || is_shifted(axis)) continue;
      const bool tiled = ragged == Ragged::whole && l_.groups_of[at(axis)] > Count(1);
      const bool padded = ragged == Ragged::whole && l_.extent[at(axis)] > size_of(axis);
      out *= tiled || padded ? l_.groups_of[at(axis)] * l_.extent[at(axis)] : size_of(axis);
    }
    for (std::size_t i = 0; i < l_.groups_of.size(); ++i) {
      const auto axis = static_cast<AxisId>(i);
      if (in_walk(axis) || has(axis)) continue;
      out *= l_.groups_of[i];
    }
    return out;
  }

  [[nodiscard]] bool in_walk(AxisId axis) const {
    return (walks_ && axis == *s_.stream) || (masked_ && axis == *p_.across);
  }

  /// The streamed axis (and the one across) of all groups: elements, or iterations where the array is reread.
  [[nodiscard]] Count walked(Ragged ragged) const {
    if (!walks_) return 1;
    if (c_.reread && !streams_) return walked_chunks();
    if (!masked_) return ragged == Ragged::whole ? w_.all_chunks * p_.block().chunk : size_of(*s_.stream);
    if (ragged == Ragged::whole) return over_groups(w_.total.chunks, w_.last_chunks, ragged) * p_.block().chunk;
    return over_groups(w_.total.columns, w_.last_columns, ragged);
  }

  [[nodiscard]] Count walked_chunks() const {
    if (!masked_) return w_.all_chunks * sub_chunks();
    return over_groups(w_.total.chunks, w_.last_chunks, Ragged::clipped) * sub_chunks();
  }

  /// A level below the block's may walk a chunk in smaller steps.
  [[nodiscard]] Count sub_chunks() const {
    return l_.chunk < p_.block().chunk ? ceil_div(p_.block().chunk, l_.chunk) : Count(1);
  }

  /// A sum over the groups across: once for each instance that the level has beyond them, or weighted by the members
  /// of each group where the array has the axis across.
  [[nodiscard]] Count over_groups(Count total, Count last, Ragged ragged) const {
    const AxisId across = *p_.across;
    if (!has(across)) {
      return total * (l_.groups_of[at(across)] / w_.total.row_groups);
    }
    if (ragged == Ragged::whole) return total * w_.across;
    return (total - last) * w_.across + last * (size_of(across) - (w_.total.row_groups - Count(1)) * w_.across);
  }

  const PlacedDiagram& p_;
  const Streamed& s_;
  const Crossing& c_;
  const PlacedLevel& l_;
  const Walk& w_;
  const std::vector<AxisId>& axes_;
  const Array* array_ = nullptr;  // with shifted dimensions
  std::uint64_t has_ = 0;
  bool streams_ = false, walks_ = false, masked_ = false;
};

/// The groups that a crossing is counted for: at a cluster, only what is multicast crosses once a cluster; parts of a
/// result cross once a block as long as they have not met.
Groups groups_for(const PlacedDiagram& placed, const Groups& level, const Crossing& crossing) {
  const Groups blocks{placed.block(), placed.walk};
  if (placed.in_parts(crossing) && &level.level < &blocks.level) return blocks;
  const bool cluster = placed.machine->levels[at(level.level.level)].kind == LevelKind::cross_transfer;
  return cluster && !placed.shared_by_cluster(crossing) ? blocks : level;
}

/// Loads as the receiver's counter sees them; `moved`: clipped to the array.
Bytes delivered(const PlacedDiagram& placed, const Crossing& crossing, const Mover& mover, Bytes moved) {
  switch (crossing.engine) {
    case CopyEngine::tma: return mover.boxes();
    case CopyEngine::cp_async:
    case CopyEngine::plain:
      return mover.sectors(std::max(placed.machine->levels[at(crossing.into)].transaction, Count(1)));
    default: return moved;
  }
}

Bytes moved_by(const PlacedDiagram& placed, const PlacedLevel& level, const Crossing& crossing) {
  const Walk walk = walk_of(placed, level);
  const Mover mover(placed, crossing, groups_for(placed, {level, walk}, crossing));
  return bytes_of(mover.elements(), crossing.type);
}

/// The type in which a result leaves the first launch.
DType part_type(const PlacedDiagram& placed, ArrayId array) {
  for (const Crossing& c : placed.crossings) {
    if (c.array == array && c.store && c.parts) return c.type;
  }
  return placed.problem->dtype;
}

/// The second launch: its own diagram, by the same rule. It reads parts in the type that they were stored in, and
/// stores results in the question's type; statistics keep theirs.
void add_launch(const PlacedDiagram& placed, CombineMoved& moved) {
  const CombineLaunch& launch = *placed.combine->launch;
  const Diagram& d = launch.streamed.diagram;
  const Diagram& first = placed.streamed->diagram;
  const Problem problem = combine_problem(launch, *placed.problem, placed.block().extent);
  const Partition partition = make_partition(launch.streamed, problem.sizes, {}, d.name);
  for (const TransferTerm& term : transfer_terms(launch.streamed)) {
    const auto& ids = term.store ? d.outputs : d.inputs;
    const ArrayId whole =
        launch.whole[at(static_cast<int>(std::find(ids.begin(), ids.end(), term.array) - ids.begin()))];
    const bool statistic = first.operations[at(*first.producer(whole))].outputs[0] != whole;
    const DType type = term.store && !statistic ? placed.problem->dtype : part_type(placed, whole);
    const Count values = transfer_of(launch.streamed, term, problem, partition).value;
    (term.store ? moved.whole : moved.loaded) += bytes_of(values, type);
  }
}

}  // namespace

namespace {

/// Of a packed batch: what its sequences move by themselves.
CombineMoved combine_moved_packed(const PlacedDiagram& placed) {
  CombineMoved sum;
  for (const PackedPart& part : placed.packed) {
    if (part.blank) continue;
    const CombineMoved moved = *combine_moved(part.placed);
    sum.into = moved.into;
    sum.parts = std::max(sum.parts, moved.parts);
    sum.stored += moved.stored;
    sum.loaded += moved.loaded;
    sum.whole += moved.whole;
  }
  return sum;
}

/// One part of every result, in the type in which it is kept: an output that a cut tile leaves in parts.
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

/// The memory that parts of a cut tile leave: the block's level, of cores the one that their results leave.
LevelId parts_leave_from(const PlacedDiagram& placed) {
  if (!goes_ways(placed)) return placed.block().level;
  for (const Crossing& c : placed.crossings) {
    if (c.store && c.phase == Phase::tail && c.variable >= 0) return c.into;
  }
  return placed.block().level;
}

/// `none`: an axis of which nothing is there: arrays along it move nothing.
std::vector<LevelTransfer> moved_over(const PlacedDiagram& placed, AxisId none = -1) {
  std::vector<LevelTransfer> out;
  for (const PlacedLevel& level : placed.levels) {
    LevelTransfer sum;
    sum.level = level.level;
    sum.groups = level.groups;
    const Walk walk = walk_of(placed, level);
    for (const Crossing& crossing : placed.crossings) {
      if (crossing.into != level.level) continue;
      const auto& axes = placed.axes_of(crossing);
      if (none >= 0 && std::find(axes.begin(), axes.end(), none) != axes.end()) continue;
      const Groups own{level, walk}, used = groups_for(placed, own, crossing);
      const Mover mover(placed, crossing, used);
      // Of what the blocks of a cluster hold in equal parts each gets its own.
      const bool in_parts = level.level == placed.block().level && placed.divided(crossing);
      const Count parts = in_parts ? std::max(placed.cluster, Count(1)) : Count(1);
      const Bytes moved(bytes_of(mover.elements(), crossing.type).value / parts);
      (crossing.store ? sum.store : sum.load) += moved;
      if (!crossing.store) sum.delivered += Bytes(delivered(placed, crossing, mover, moved * parts).value / parts);
      // What crosses once a block crosses once for each of a cluster's.
      const Count times = &used.level != &own.level && !placed.in_parts(crossing) ? placed.cluster : Count(1);
      sum.transfer_per_group += Bytes(bytes_of(mover.per_group() * times, crossing.type).value / parts);
    }
    if (level.level == parts_leave_from(placed)) {
      const Bytes parts = cut_bytes(placed);
      sum.store += parts;
      if (!goes_ways(placed)) sum.load += parts, sum.delivered += parts;  // else they are added where they go
    }
    out.push_back(sum);
  }
  return out;
}

/// Of a packed batch: what its sequences move by themselves. Where a level does not divide the batch, one group of it
/// takes in all of them.
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

namespace {

/// Whether it joins the level where parts meet with the one below, of cores with the memory that they come from.
bool leads_to_meeting(const PlacedDiagram& placed, const Crossing& crossing) {
  const int meeting = placed.combine->at;
  if (crossing.pipe < 0) return crossing.into == placed.levels[at(meeting + 1)].level;
  const Pipe& pipe = placed.machine->pipes[at(crossing.pipe)];
  const LevelId level = meeting < 0 ? 0 : placed.levels[at(meeting)].level;
  return pipe.from == level || pipe.to == level;
}

}  // namespace

std::optional<CombineMoved> combine_moved(const PlacedDiagram& placed) {
  if (!placed.combine) return std::nullopt;
  if (!placed.packed.empty()) return combine_moved_packed(placed);
  const PlacedLevel& below = placed.levels[at(placed.combine->at + 1)];
  CombineMoved moved;
  moved.into = below.level;
  moved.parts = placed.parts();
  for (const Crossing& crossing : placed.crossings) {
    if (!crossing.parts || !leads_to_meeting(placed, crossing)) continue;
    const auto level = std::find_if(placed.levels.begin(), placed.levels.end(),
                                    [&](const PlacedLevel& one) { return one.level == crossing.into; });
    moved.into = crossing.into;
    (crossing.store ? moved.stored : moved.loaded) += moved_by(placed, *level, crossing);
  }
  if (placed.combine->launch && moved.parts > Count(1)) add_launch(placed, moved);
  return moved;
}

Bytes cut_bytes(const PlacedDiagram& placed) {
  const Count cuts = cut_tiles(placed);
  return cuts == Count(0) ? Bytes() : Bytes(part_bytes(placed).value * cuts);
}

bool counts_rereads(const Machine& machine, LevelId id) {
  const Level& level = machine.levels[at(id)];
  return level.parent == 0 && level.kind == LevelKind::cache;
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

}  // namespace napkin
