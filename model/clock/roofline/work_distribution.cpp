#include "model/clock/roofline/work_distribution.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "model/diagram/reindex.hpp"
#include "model/diagram/seen.hpp"
#include "model/resource/order.hpp"

namespace napkin::internal {
namespace {

std::size_t index(AxisId axis) { return static_cast<std::size_t>(axis); }

/// Returns the mean over the blocks of a packed batch's sequences.
CutChunks cut_chunks_packed(const PlacedDiagram& placed) {
  CutChunks sum;
  double blocks = 0;
  for (const PackedPart& part : placed.packed) {
    const double own = real(part.placed.blocks);
    blocks += own;
    if (part.blank) continue;
    const CutChunks one = cut_chunks(part.placed);
    sum.first += one.first * own;
    sum.last += one.last * own;
  }
  return {sum.first / std::max(blocks, 1.0), sum.last / std::max(blocks, 1.0)};
}

/// The groups of a masked plane's members, and the chunks of the other axis that they see.
class GroupsUnderMask {
 public:
  GroupsUnderMask(const VisibleSpans& seen, Span seeing, std::int64_t members, std::int64_t group, std::int64_t along,
                  std::int64_t chunk)
      : seen_(seen),
        seeing_(seeing),
        members_(members),
        group_(group),
        along_(along),
        chunk_(chunk),
        repeat_(chunk / std::gcd(group, chunk)) {}

  /// The chunks, summed over groups, that not all of a group's members see in full: before the first that all see, and
  /// after. Within the plane they repeat after as many groups as make whole chunks; groups that see nothing visit none.
  struct Cut {
    std::int64_t low = 0, high = 0;
  };
  [[nodiscard]] Cut cut() const {
    const std::int64_t whole = members_ / group_;
    const std::int64_t end = std::min((seeing_.last + group_ - 1) / group_, whole);
    Cut sum;
    // Groups that see what the first one sees (a prefix), then the one that is partly beyond it.
    const std::int64_t first = seeing_.first / group_, beyond = equal_from(first, end);
    if (first < beyond) add(sum, of(first), beyond - first);
    if (beyond < end) add(sum, of(beyond), 1);
    for (std::int64_t k = beyond + 1; k < end;) {
      const std::int64_t run = run_from(k, end), times = run / repeat_;
      for (std::int64_t i = 0; i < (times > 1 ? repeat_ : run); ++i) add(sum, of(k + i), times > 1 ? times : 1);
      k += times > 1 ? times * repeat_ : run;
    }
    if (whole * group_ < members_) add(sum, of(whole), 1);
    return sum;
  }

 private:
  struct Spans {
    Span any, top, bottom;  // that some member sees, the first and the last
  };
  /// The position of the band over a group: within the plane at both ends, from its start on, to its end, over all of
  /// it (with some chunk that all members see), or otherwise.
  enum class Lies { within, from_the_start, to_the_end, over, otherwise };

  [[nodiscard]] Spans spans(std::int64_t k) const {
    const std::int64_t first = k * group_, last = std::min(first + group_, members_);
    return {seen_(first, last), seen_(first, first + 1), seen_(last - 1, last)};
  }
  [[nodiscard]] Lies lies(std::int64_t k) const {
    const Spans s = spans(k);
    if (s.top.size() == 0 || s.bottom.size() == 0) return Lies::otherwise;
    const std::int64_t first = std::max(s.top.first, s.bottom.first);
    const bool starts = first == 0, within = s.any.last < along_;
    if (s.any.first > 0 && within) return Lies::within;
    if (starts && within) return Lies::from_the_start;
    if (std::min(s.top.last, s.bottom.last) < along_) return Lies::otherwise;
    if (starts) return Lies::over;
    return s.any.first > 0 && first <= along_ / chunk_ * chunk_ ? Lies::to_the_end : Lies::otherwise;
  }
  /// Returns the end of the groups, from k on, all of whose members see what those of group k see.
  [[nodiscard]] std::int64_t equal_from(std::int64_t k, std::int64_t end) const {
    if (k + 1 >= end) return end;
    const Spans here = spans(k);
    const auto same = [&](std::int64_t other) {
      const Spans there = spans(other);
      return here.any == there.any && here.top == there.top && here.bottom == there.bottom;
    };
    std::int64_t most = same(k + 1) ? end : k + 1;
    for (std::int64_t least = k + 1; least < most;) {
      const std::int64_t tried = least + (most - least) / 2;
      same(tried) ? least = tried + 1 : most = tried;
    }
    return most;
  }
  /// Returns the number of groups, from k on, with the same position of the band.
  [[nodiscard]] std::int64_t run_from(std::int64_t k, std::int64_t end) const {
    const Lies here = lies(k);
    if (here == Lies::otherwise) return 1;
    std::int64_t run = 1, other = end - k;  // a band moves one way: no group between two of a run is other
    for (; run < other;) {
      const std::int64_t tried = run + (other - run + 1) / 2;
      if (lies(k + tried - 1) == here)
        run = tried;
      else
        other = tried - 1;
    }
    return run;
  }

  [[nodiscard]] Cut of(std::int64_t k) const {
    const Spans s = spans(k);
    if (s.any.size() == 0) return {};
    const std::int64_t begin = s.any.first / chunk_, end = (s.any.last + chunk_ - 1) / chunk_;
    // Of the chunks from `begin` to `end` those that all rows see in full; where there are none, all are cut at one
    // end.
    const std::int64_t full = std::min((std::max(s.top.first, s.bottom.first) + chunk_ - 1) / chunk_, end);
    const std::int64_t full_end = std::max(std::min(s.top.last, s.bottom.last) / chunk_, full);
    return {full - begin, end - full_end};
  }
  static void add(Cut& sum, const Cut& one, std::int64_t times) {
    sum.low += one.low * times;
    sum.high += one.high * times;
  }

  const VisibleSpans& seen_;
  Span seeing_;  // the members that see anything
  std::int64_t members_, group_, along_, chunk_, repeat_;
};

}  // namespace

CutChunks cut_chunks(const PlacedDiagram& placed) {
  if (!placed.packed.empty()) return cut_chunks_packed(placed);
  const Streamed& streamed = *placed.streamed;
  if (!streamed.stream) return {};
  const auto size = [&](AxisId axis) { return placed.problem->sizes[index(axis)].get(); };
  const bool backward = walks_backward(placed);
  const auto cut = [&](double low, double high) { return backward ? CutChunks{high, low} : CutChunks{low, high}; };
  const std::int64_t chunk = placed.block().chunk.get(), along = size(*streamed.stream);
  const Mask& mask = placed.problem->mask;
  if (!placed.across || !streamed.skips || mask.kind == Mask::Kind::none) return cut(0, along % chunk != 0 ? 1 : 0);
  const bool columns = (*streamed.skips)[1] == *streamed.stream;
  const std::int64_t members = size(*placed.across), group = placed.walk.across.get();
  const VisibleSpans seen(mask, columns ? members : along, columns ? along : members, !columns);
  const Span seeing = columns ? visible_rows(mask, 0, along, members, along) : visible(mask, 0, along, along, members);
  const auto [low, high] = GroupsUnderMask(seen, seeing, members, group, along, chunk).cut();
  const auto blocks = static_cast<double>(std::max<std::int64_t>((members + group - 1) / group, 1));
  return cut(static_cast<double>(low) / blocks, static_cast<double>(high) / blocks);
}

namespace {

Schedule schedule_packed(const PlacedDiagram& placed) {
  Schedule sum;
  for (const PackedPart& part : placed.packed) {
    const Schedule one = schedule(part.placed);
    sum.nodes = one.nodes;
    sum.total_blocks += one.total_blocks;
    if (part.blank) continue;
    sum.total_iterations += one.total_iterations;
    sum.longest = std::max(sum.longest, one.longest);
  }
  sum.blocks = std::ceil(sum.total_blocks / sum.nodes);
  sum.iterations = std::max(sum.longest, std::ceil(sum.total_iterations / sum.nodes));
  return sum;
}

}  // namespace

Schedule schedule(const PlacedDiagram& placed) {
  // A node that runs ceil(blocks / nodes) blocks takes at least their share: with lengths that fall evenly from the
  // longest (at the mask's mean), n nodes run k n + 1 blocks only if one of them runs k + 1 blocks, none shorter than
  // the last. The number of blocks that a node holds at a time does not change its work. Packed sequences: only blocks
  // that have rows count, and of the busiest node only the longest block and the even share.
  if (!placed.packed.empty()) return schedule_packed(placed);
  const Count nodes = std::max(placed.machine->compute_nodes(), Count(1));
  const Count cluster = std::max(placed.cluster, Count(1));
  const Count usable = std::max(nodes / cluster * cluster, Count(1));
  const PlacedLevel& block = placed.block();
  const Visits& seen = placed.walk.total;
  Count walked_together = seen.row_groups;  // blocks that the walk's sums run over
  if (placed.streamed->stream) walked_together *= block.groups_of[index(*placed.streamed->stream)];
  Schedule out;
  out.nodes = real(usable);
  out.blocks = real(ceil_div(placed.blocks, usable));
  out.total_blocks = real(placed.blocks);
  out.total_iterations = real(seen.chunks * (placed.blocks / std::max(walked_together, Count(1))));
  out.longest = real(seen.longest);
  const double longest = out.longest, mean = out.total_iterations / out.total_blocks;
  const double ahead = (out.blocks - 1) * out.nodes / out.total_blocks;
  const double last = std::max(longest - 2 * (longest - mean) * ahead, 0.0);
  out.iterations = std::max({longest, std::ceil(out.total_iterations / out.nodes), std::ceil(out.blocks * last)});
  if (block_order(placed) == BlockOrder::even) {
    out.blocks = std::ceil((out.total_blocks + real(cut_tiles(placed))) / out.nodes);
    out.iterations = std::ceil(out.total_iterations / out.nodes);
  }
  return out;
}

namespace {

/// The columns of a mask that no row sees, or the rows that see none.
struct HiddenColumns {
  std::array<AxisId, 2> mask;
  AxisId axis = 0;
  double seen = 0;
  bool of_all = false;  ///< true if whole chunks of every input are left out
};

std::vector<HiddenColumns> hidden_columns(const PlacedDiagram& placed) {
  std::vector<HiddenColumns> out;
  if (placed.problem->mask.kind == Mask::Kind::none) return out;
  const Sizes& sizes = placed.problem->sizes;
  for (const auto& mask : mask_axes(placed.streamed->diagram)) {
    const std::int64_t rows = sizes[index(mask[0])].get(), columns = sizes[index(mask[1])].get();
    const auto seen = static_cast<double>(visible(placed.problem->mask, 0, rows, rows, columns).size());
    const bool chunks = placed.across && placed.streamed->skips == mask;
    out.push_back({mask, mask[1], seen, chunks});
    const auto seeing = static_cast<double>(visible_rows(placed.problem->mask, 0, columns, rows, columns).size());
    if (chunks) out.push_back({mask, mask[0], seeing});
  }
  return out;
}

/// Returns the compulsory bytes of sequences of one length. `none` is an axis along which they have no elements, so no
/// inputs or outputs.
double compulsory_of_one_length(const PlacedDiagram& placed, AxisId none = -1) {
  const Diagram& d = placed.streamed->diagram;
  const Sizes& sizes = placed.problem->sizes;
  const std::vector<HiddenColumns> hidden = hidden_columns(placed);
  const auto volume_of = [&](ArrayId array, bool input) {
    const Array& its = d.arrays[index(array)];
    if (is_shifted(its)) return real(values_read(its, sizes));
    double product = 1;
    for (const AxisId a : its.axes) {
      const auto part = std::find_if(hidden.begin(), hidden.end(), [&](const HiddenColumns& one) {
        return input && one.axis == a && (one.of_all || read_at_seen_pairs(d, array, one.mask));
      });
      product *= part == hidden.end() ? real(sizes[index(a)]) : part->seen;
    }
    return product;
  };
  const auto type_of = [&](ArrayId array, bool store) -> std::optional<DType> {
    for (const Crossing& c : placed.crossings) {
      if (c.array == array && c.store == store) return c.type;
    }
    return std::nullopt;  // statistics that are exchanged rather than stored
  };
  double bytes = 0;
  for (const ArrayId a : none < 0 ? d.inputs : std::vector<ArrayId>{})
    bytes += volume_of(a, true) * bytes_per_value(type_of(a, false).value_or(placed.problem->dtype));
  for (const ArrayId a : d.outputs) {
    if (none >= 0 && d.arrays[index(a)].has(none)) continue;
    if (const auto type = type_of(a, true)) bytes += volume_of(a, false) * bytes_per_value(*type);
  }
  return bytes;
}

}  // namespace

double compulsory_bytes(const PlacedDiagram& placed) {
  if (placed.packed.empty()) return compulsory_of_one_length(placed);
  double bytes = 0;
  for (const PackedPart& part : placed.packed)
    bytes += compulsory_of_one_length(part.placed, part.blank ? placed.problem->packing.columns : -1);
  return bytes;
}

}  // namespace napkin::internal
