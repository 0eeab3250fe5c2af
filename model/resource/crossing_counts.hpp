#pragma once
// CrossingCounts holds the numbers whose product is the bytes of one crossing at one level: K of 8192 keys crosses into
// shared memory once for each of 64 groups of queries. (eq. 2.4) Internal to model/resource.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "model/diagram/reindex.hpp"
#include "model/mapping/placed.hpp"
#include "model/resource/boxes.hpp"
#include "model/resource/order.hpp"
#include "model/resource/seeing.hpp"

namespace napkin::internal {

/// The counting of elements along tiled axes.
enum class Ragged {
  clipped,  ///< elements within the array
  whole,    ///< elements of the last, ragged tile in full: the copy engine's boxes
};

/// The groups of a level, and their walk along the streamed axis.
struct LevelGroups {
  const PlacedLevel& level;
  const Walk& walk;
};

/// The counts of a crossing at a level.
class CrossingCounts {
 public:
  CrossingCounts(const PlacedDiagram& placed, const Crossing& crossing, const LevelGroups& groups)
      : p_(placed),
        s_(*placed.streamed),
        c_(crossing),
        l_(groups.level),
        w_(groups.walk),
        axes_(placed.axes_of(crossing)) {
    for (const AxisId axis : axes_) has_ |= std::uint64_t{1} << axis;  // Placer takes 64 axes at most
    if (c_.array >= 0 && internal::is_shifted(s_.diagram.arrays[at(c_.array)]))
      array_ = &s_.diagram.arrays[at(c_.array)];
    streams_ = s_.stream && has(*s_.stream);
    walks_ = c_.phase == Phase::loop && s_.stream && (streams_ || c_.reread);
    masked_ = walks_ && c_.skips && p_.across.has_value();
    seeing_ =
        c_.phase == Phase::head && c_.skips && p_.across.has_value() && !axes_.empty() && axes_.back() != *p_.across;
  }

  /// Returns the elements, clipped to the array.
  [[nodiscard]] Count elements() const {
    Count out = rows(Ragged::clipped, std::nullopt);
    if (!(walks_ && is_shifted(*s_.stream))) out *= walked(Ragged::clipped);
    return array_ == nullptr ? out
                             : out * shifted_values(
                                         *array_, p_.problem->sizes, [this](AxisId axis) { return group_of(axis); },
                                         [this](AxisId axis) { return chunk_of(axis); });
  }

  /// Returns the rows of the unit-stride axis in whole sectors of that many bytes, everything else clipped.
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

  /// Returns the tiles of the unit-stride axis in boxes, parts outside the array included. If a mask visits rows or
  /// boxes unequally often, they count like the mean.
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
    const Count parts = p_.column_parts(c_);
    const BoxedRows boxed(bytes_of(size_of(last), c_.type).value, bytes_of(tile, c_.type).value / parts, tiles * parts,
                          p_.multicast(c_));
    return Bytes(boxed.inside(inside * parts, array_rows) + (all - inside) * parts * boxed.outside());
  }

  /// Returns the count of a full group that sees every chunk.
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
  [[nodiscard]] bool is_shifted(AxisId axis) const { return array_ != nullptr && internal::is_shifted(*array_, axis); }
  /// Returns the size into which an axis is cut at this level; a level above the block's takes its part at once.
  [[nodiscard]] Count group_of(AxisId axis) const { return std::min(l_.extent[at(axis)], size_of(axis)); }
  [[nodiscard]] Count chunk_of(AxisId axis) const {
    const bool chunks = walks_ && axis == *s_.stream && &l_ >= &p_.block();
    return chunks ? std::min(l_.chunk, group_of(axis)) : group_of(axis);
  }
  [[nodiscard]] Count size_of(AxisId axis) const { return p_.problem->sizes[at(axis)]; }
  [[nodiscard]] Count part() const { return p_.block().extent[at(*s_.stream)]; }

  /// Returns the product over all axes but the streamed one, `but`, and, if the mask skips chunks, the axis across.
  [[nodiscard]] Count rows(Ragged ragged, std::optional<AxisId> but) const {
    Count out = seeing_ ? of_seeing(ragged) : Count(1);
    for (const AxisId axis : axes_) {
      if (in_walk(axis) || axis == but || is_shifted(axis) || (seeing_ && axis == *p_.across)) continue;
      const bool tiled = ragged == Ragged::whole && l_.groups_of[at(axis)] > Count(1);
      const bool padded = ragged == Ragged::whole && l_.extent[at(axis)] > size_of(axis);
      out *= tiled || padded ? l_.groups_of[at(axis)] * l_.extent[at(axis)] : size_of(axis);
    }
    for (std::size_t i = 0; i < l_.groups_of.size(); ++i) {
      const auto axis = static_cast<AxisId>(i);
      if (in_walk(axis) || has(axis) || (seeing_ && (axis == *p_.across || axis == *s_.stream))) continue;
      out *= l_.groups_of[i];
    }
    return out;
  }

  /// Counts, along the mask's two axes, only groups whose blocks see anything: their elements across, or the groups if
  /// the array lacks that axis, for all parts of the streamed axis. Levels above the blocks load what the blocks load.
  [[nodiscard]] Count of_seeing(Ragged ragged) const {
    const auto across = at(*p_.across), stream = at(*s_.stream);
    const PlacedLevel &block = p_.block(), &parts = &l_ > &block ? block : l_,
                      &groups = has(*p_.across) ? block : parts;
    const SeeingBlocks seeing = seeing_blocks(p_, groups.extent[across], parts.extent[stream]);
    if (!has(*p_.across)) return seeing.groups * (l_.groups_of[across] / parts.groups_of[across]);
    const bool whole =
        ragged == Ragged::whole && (l_.groups_of[across] > Count(1) || groups.extent[across] > size_of(*p_.across));
    return whole ? seeing.groups * groups.extent[across] : seeing.members;
  }

  [[nodiscard]] bool in_walk(AxisId axis) const {
    return (walks_ && axis == *s_.stream) || (masked_ && axis == *p_.across);
  }

  /// Returns the streamed axis (and the axis across) summed over all groups: elements, or iterations if the array is
  /// reread.
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

  /// Returns the steps of a chunk in which a level below the block's walks it.
  [[nodiscard]] Count sub_chunks() const {
    return l_.chunk < p_.block().chunk ? ceil_div(p_.block().chunk, l_.chunk) : Count(1);
  }

  /// Returns a sum over the groups across: for each instance that the level has beyond them, or, if the array has the
  /// axis across, weighted by each group's members.
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
  const Array* array_ = nullptr;  // array with shifted dimensions, else nullptr
  std::uint64_t has_ = 0;
  bool streams_ = false, walks_ = false, masked_ = false;
  bool seeing_ = false;  // true if it moves once for each block that sees anything
};

/// Returns the groups that a crossing counts for. At a cluster, only multicast data cross once a cluster; parts of a
/// result cross once a block until they meet.
[[nodiscard]] LevelGroups groups_for(const PlacedDiagram& placed, const LevelGroups& level, const Crossing& crossing);

/// Returns the number of caches of a level that each read the crossing's data: of eight dies with an L2 each, those
/// that have blocks which share it. 1 at other levels, and for the ideal mapping, whose blocks may lie as is best.
[[nodiscard]] Count caches_that_read(const PlacedDiagram& placed, const PlacedLevel& level, const Crossing& crossing);
/// Returns the bytes of all groups of a level, clipped to the array.
[[nodiscard]] Bytes moved_by(const PlacedDiagram& placed, const PlacedLevel& level, const Crossing& crossing);

}  // namespace napkin::internal
