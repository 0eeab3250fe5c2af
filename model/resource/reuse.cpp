#include "model/resource/reuse.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/resource/order.hpp"
#include "model/resource/resources.hpp"
#include "model/resource/touches.hpp"

namespace napkin {
namespace {

constexpr std::int64_t most_steps = std::int64_t{1} << 16;  // of all blocks together
constexpr std::int64_t most_segments = 16;                  // of the streamed axis
constexpr std::int64_t most_sampled = std::int64_t{1} << 15;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// One array as blocks touch it.
struct Touched {
  const Crossing* crossing = nullptr;
  std::vector<AxisId> grouped;      // of the array
  std::vector<double> fixed_bytes;  // by Lengths: of a piece, without its ragged axes and the streamed one
  std::vector<double> copies;       // by Lengths: partitions that keep it, over all
  bool streams = false;
};

/// The sizes that a block works by: those of the question, or of its sequence of a packed batch.
struct Lengths {
  Sizes sizes;
  std::vector<Count> groups;           // by AxisId
  std::int64_t columns = 1, part = 1;  // of the streamed axis: all, and of one group
  bool blank = false;                  // PackedPart::blank
};

/// A block's part of an array: its first piece, and bytes of a piece; streamed: of one column.
struct Pieces {
  std::size_t first = 0;
  double bytes = 0;
};

/// A block on its way.
struct Running {
  std::int64_t next = 0, end = 0;  // segments; from the other end where it walks backward
  std::size_t lengths = 0;         // index into those of the launch
  std::size_t walk = 0;            // blocks of one walk stream the same segments at the same steps
  Pieces* pieces = nullptr;        // by Touched
  std::int64_t waits = 0;          // steps before it begins
  bool begun = false;
};

/// Evenly spread over 0 to 1, whatever the number of them: the bits of `i` behind the point, in reverse.
double spread_evenly(std::int64_t i) {
  double out = 0;
  for (double bit = 0.5; i > 0; i /= 2, bit /= 2) out += i % 2 == 1 ? bit : 0;
  return out;
}

class Acted {
 public:
  Acted(const PlacedDiagram& placed, const L2Model& l2, std::int64_t running, std::optional<Count> section, Pace pace)
      : p_(placed), l2_(l2), sequence_(placed, section), slots_(index(running)), apart_(pace == Pace::apart) {
    find_lengths();
    std::int64_t columns = 1;
    if (p_.streamed->stream) {
      columns = p_.problem->sizes[index(*p_.streamed->stream)].get();
      const std::int64_t chunk = p_.block().chunk.get(), chunks = (columns + chunk - 1) / chunk;
      segment_ = (chunks + most_segments - 1) / most_segments * chunk;
    }
    segments_ = (columns + segment_ - 1) / segment_;
    backward_ = walks_backward(p_);
    for (const Crossing& c : p_.crossings) add(c, static_cast<double>(running));
    known_.resize(arrays_.size());
    held_.resize(slots_.size() * arrays_.size());
    for (std::size_t s = 0; s < slots_.size(); ++s) slots_[s].pieces = held_.data() + s * arrays_.size();
  }

  Reread act_out() {
    const std::int64_t n = static_cast<std::int64_t>(slots_.size());
    const bool dealt_out = sequence_.order() != BlockOrder::grid && sequence_.order() != BlockOrder::longest_first;
    std::vector<std::int64_t> turn(slots_.size(), 0);
    std::int64_t started = 0;
    const auto next_number = [&](std::int64_t s) { return dealt_out ? turn[index(s)]++ * n + s : started; };
    for (bool busy = true; busy; ++step_) {
      busy = false;
      leaders_.clear();
      quiet_ = most_steps;
      for (std::int64_t s = 0; s < n; ++s) {
        Running& block = slots_[index(s)];
        if (block.next >= block.end) {
          std::int64_t number = next_number(s);
          for (; number < sequence_.size() && !start(block, number); number = next_number(s)) ++started;
          if (number >= sequence_.size()) continue;
          ++started;
          if (apart_ && step_ == 0)
            block.waits = static_cast<std::int64_t>(spread_evenly(s) * static_cast<double>(block.end - block.next));
          join_walk(block);
        }
        busy = true;
        quiet_ = std::min(quiet_, block.waits > 0 ? 0 : block.end - block.next - 2);
        if (block.waits > 0 && block.waits-- > 0) continue;
        if (steps_ == most_steps) return going_on();
        advance(block);
        if (++steps_ == most_steps / 2) half_ = out_.bytes;
      }
      if (busy && quiet_ > 0) advance_quietly();
    }
    return out_;
  }

 private:
  /// The launch is cut off: its other steps read as much again as those behind the first half of what was acted out.
  Reread going_on() {
    const double left = all_steps() - static_cast<double>(most_steps);
    out_.bytes += (out_.bytes - half_) * std::max(left, 0.0) / static_cast<double>(most_steps / 2);
    out_.extrapolated = true;
    return out_;
  }

  /// Of all blocks: counted, or of a sample of them spread over the launch.
  double all_steps() {
    const std::int64_t all = sequence_.size(), looked_at = std::min(all, most_sampled);
    const std::int64_t stride = looked_at == all ? 1 : (all * 5 / 8) | 1;  // odd: meets every row of a power of two
    double steps = 0;
    for (std::int64_t i = 0, number = 0; i < looked_at; ++i, number = (number + stride) % all)
      steps += static_cast<double>(steps_of(sequence_.at(number)));
    return steps * static_cast<double>(all) / static_cast<double>(looked_at);
  }

  std::int64_t steps_of(const BlockPlace& place) {
    const int part = packed_ ? packed_->part_of(place) : 0;
    if (part < 0) return 0;
    sequence_.coordinates(place, coordinate_);
    const Lengths& lengths = lengths_[static_cast<std::size_t>(part)];
    const Span seen = lengths.blank ? Span{} : columns_seen(lengths);
    return seen.size() > 0 ? (seen.last + segment_ - 1) / segment_ - seen.first / segment_ : 1;
  }

  void find_lengths() {
    const auto add_lengths = [&](const PlacedDiagram& own, Sizes sizes, bool blank) {
      Lengths out{std::move(sizes), own.block().groups_of, 1, 1, blank};
      if (p_.streamed->stream) {
        const std::size_t stream = index(*p_.streamed->stream);
        out.columns = out.sizes[stream].get();
        out.part = std::min(p_.block().extent[stream].get(), out.columns);
      }
      lengths_.push_back(std::move(out));
    };
    if (p_.packed.empty()) return add_lengths(p_, p_.problem->sizes, false);
    const Packing& packing = p_.problem->packing;
    for (const PackedPart& part : p_.packed) {
      Sizes sizes = p_.problem->sizes;
      for (const AxisId axis : {packing.rows, packing.columns}) sizes[index(axis)] = part.problem->sizes[index(axis)];
      add_lengths(part.placed, std::move(sizes), part.blank);
      lengths_.back().groups[index(packing.batch)] = p_.block().groups_of[index(packing.batch)];
    }
    packed_.emplace(p_, sequence_);
  }

  /// Bytes that blocks move between the L2 and their own level. Parts that they exchange are left out.
  void add(const Crossing& c, double running) {
    if (c.into != p_.block().level || c.auxiliary >= 0 || p_.in_parts(c)) return;
    Touched t;
    t.crossing = &c;
    const auto& axes = p_.axes_of(c);
    const auto has = [&](AxisId axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); };
    // A streamed axis that is split too goes by its segments, whoever walks them.
    for (const AxisId axis : sequence_.axes()) {
      if (has(axis) && !(p_.streamed->stream == axis && c.phase == Phase::loop)) t.grouped.push_back(axis);
    }
    const auto is_fixed = [&](AxisId axis) {
      if (p_.streamed->stream == axis && c.phase == Phase::loop) return false;
      return std::find(t.grouped.begin(), t.grouped.end(), axis) == t.grouped.end();
    };
    t.streams = p_.streamed->stream && c.phase == Phase::loop && has(*p_.streamed->stream);
    for (const Lengths& lengths : lengths_) {
      double readers = 1, fixed = 1;
      for (const AxisId axis : sequence_.axes()) readers *= has(axis) ? 1 : real(lengths.groups[index(axis)]);
      for (const AxisId axis : axes) fixed *= is_fixed(axis) ? real(lengths.sizes[index(axis)]) : 1;
      t.fixed_bytes.push_back(fixed * bytes_per_value(c.type));
      t.copies.push_back(1 - std::pow(1 - 1.0 / l2_.partitions, c.store ? 1 : std::min(readers, running)));
    }
    arrays_.push_back(t);
  }

  /// False for a block beyond its sequence, which touches nothing.
  bool start(Running& block, std::int64_t number) {
    const BlockPlace place = sequence_.at(number);
    if (packed_) {
      const int part = packed_->part_of(place);
      if (part < 0) return false;
      block.lengths = static_cast<std::size_t>(part);
    }
    sequence_.coordinates(place, coordinate_);
    const Lengths& lengths = lengths_[block.lengths];
    block.begun = false;
    const Span seen = lengths.blank ? Span{} : columns_seen(lengths);
    const bool sees = seen.size() > 0;
    block.next = sees ? seen.first / segment_ : 0;
    block.end = sees ? (seen.last + segment_ - 1) / segment_ : 1;
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      const bool touches = lengths.blank ? arrays_[a].crossing->store : sees || !arrays_[a].streams;
      double bytes = touches ? arrays_[a].fixed_bytes[block.lengths] : 0;
      std::uint64_t key = 0;
      for (const AxisId axis : arrays_[a].grouped) {
        const std::int64_t extent = p_.block().extent[index(axis)].get(), size = lengths.sizes[index(axis)].get();
        const std::int64_t at = coordinate_[index(axis)];
        bytes *= static_cast<double>(std::clamp<std::int64_t>(size - at * extent, 0, extent));
        key = key * static_cast<std::uint64_t>(p_.block().groups_of[index(axis)].get() + 1) +
              static_cast<std::uint64_t>(at);
      }
      block.pieces[a] = {pieces_of(a, key), bytes};
    }
    return true;
  }

  /// Blocks that stream the same pieces and began at the same step, or as much later as they begin farther on, stay
  /// together to their ends: one of them touches what all do.
  void join_walk(Running& block) {
    std::uint64_t walk = block.lengths;
    const auto add = [&](std::uint64_t fact) { walk = walks_.of(walk << 32U | fact, walks_.size()).first; };
    for (std::size_t a = 0; a < arrays_.size(); ++a) {
      if (arrays_[a].streams) add(2 * block.pieces[a].first + (block.pieces[a].bytes > 0 ? 1 : 0));
    }
    const std::int64_t begins = step_ + block.waits;
    add(static_cast<std::uint64_t>(backward_ ? begins + block.end : begins - block.next + segments_));
    block.walk = walk;
    if (walk >= walked_.size()) walked_.resize(walks_.size(), -1);
  }

  /// Its range of the streamed axis: its part of it, without what the mask hides from all its rows.
  [[nodiscard]] Span columns_seen(const Lengths& lengths) const {
    if (!p_.streamed->stream) return {0, lengths.columns};
    const AxisId stream = *p_.streamed->stream;
    const std::int64_t begin = coordinate_[index(stream)] * lengths.part,
                       end = std::min(begin + lengths.part, lengths.columns);
    if (!p_.across || !p_.streamed->skips) return {begin, end};
    const auto [row_axis, column_axis] = *p_.streamed->skips;
    const std::int64_t members = lengths.sizes[index(*p_.across)].get(), group = p_.walk.across.get();
    const std::int64_t first = coordinate_[index(*p_.across)] * group, last = std::min(first + group, members);
    if (first >= members) return {0, 0};  // beyond the array, where clusters are whole
    const std::int64_t rows = lengths.sizes[index(row_axis)].get(), columns = lengths.sizes[index(column_axis)].get();
    const Span seen = *p_.across == row_axis ? visible(p_.problem->mask, first, last, rows, columns)
                                             : visible_rows(p_.problem->mask, first, last, rows, columns);
    return {std::max(seen.first, begin), std::min(seen.last, end)};
  }

  /// Pieces of one array and place get numbers in a row when they are first met.
  std::size_t pieces_of(std::size_t array, std::uint64_t key) {
    const auto [first, is_new] = known_[array].of(key, pieces_);
    if (is_new) pieces_ += arrays_[array].streams ? index(segments_) : 1;
    return first;
  }

  void advance(Running& block) {
    const bool leads = walked_[block.walk] != step_, last = block.end - block.next == 1;
    walked_[block.walk] = step_;
    if (leads) leaders_.push_back(&block);
    for (std::size_t a = 0; (leads || last || !block.begun) && a < arrays_.size(); ++a) {
      const Touched& t = arrays_[a];
      if (t.streams) {
        if (leads) stream(block, a, 0);
      } else if (t.crossing->store ? last : !block.begun) {
        touch(block.pieces[a].first, block.pieces[a].bytes, t, block.lengths);
      }
    }
    block.begun = true;
    (backward_ ? --block.end : ++block.next);
  }

  /// Touches a streamed array's next segment of the block, or one so many steps later.
  void stream(const Running& block, std::size_t array, std::int64_t later) {
    const std::int64_t segment = backward_ ? block.end - 1 - later : block.next + later;
    const std::int64_t width = std::min(segment_, lengths_[block.lengths].columns - segment * segment_);
    const Pieces& own = block.pieces[array];
    touch(own.first + index(segment), own.bytes * static_cast<double>(width), arrays_[array], block.lengths);
  }

  /// Steps in which no block begins or ends: only what blocks stream is touched, by the first block of each walk.
  void advance_quietly() {
    const auto runs = [](const Running& block) { return block.next < block.end; };
    const std::int64_t running = std::count_if(slots_.begin(), slots_.end(), runs);
    const std::int64_t mark = steps_ < most_steps / 2 ? most_steps / 2 : most_steps;  // which is not reached here
    const std::int64_t steps = std::min(quiet_, std::max<std::int64_t>(mark - 1 - steps_, 0) / running);
    for (std::int64_t later = 0; later < steps; ++later) {
      ++step_;
      for (const Running* block : leaders_) {
        for (std::size_t a = 0; a < arrays_.size(); ++a) {
          if (arrays_[a].streams) stream(*block, a, later);
        }
      }
    }
    steps_ += steps * running;
    for (Running& block : slots_) {
      if (runs(block)) (backward_ ? block.end -= steps : block.next += steps);
    }
  }

  void touch(std::size_t piece, double bytes, const Touched& t, std::size_t lengths) {
    if (piece >= stamp_.size()) stamp_.resize(std::max(piece + 1, 2 * stamp_.size()), -1);
    if (bytes <= 0 || stamp_[piece] == step_) return;  // met by another block just now
    stamp_[piece] = step_;
    const double own = bytes * t.copies[lengths], others = distances_.touch(piece, own);
    if (t.crossing->store) return;
    if (others < 0)
      out_.first += bytes;
    else
      out_.bytes += bytes * chance_gone(l2_, own, others);
  }

  const PlacedDiagram& p_;
  const L2Model& l2_;
  BlockSequence sequence_;
  std::vector<Running> slots_;
  std::vector<Pieces> held_;  // by slot and array: what Running::pieces points to
  std::vector<Touched> arrays_;
  std::vector<Numbering> known_;  // by array: first pieces
  std::size_t pieces_ = 0;
  Numbering walks_;                      // by streamed pieces and the step that touches them
  std::vector<std::int64_t> walked_;     // by walk: its latest step
  std::vector<const Running*> leaders_;  // the first running block of each walk, by slot
  std::int64_t quiet_ = 0;               // steps to come in which no block begins or ends
  std::int64_t steps_ = 0;               // of all blocks
  double half_ = 0;                      // bytes read again in the first half of most_steps
  std::vector<std::int64_t> stamp_;      // by piece: the step in which it was touched last
  std::int64_t step_ = 0;
  Distances distances_;
  std::vector<Lengths> lengths_;  // one; packed: by PlacedDiagram::packed
  std::optional<PackedBlocks> packed_;
  std::vector<std::int64_t> coordinate_;
  std::int64_t segment_ = 1, segments_ = 1;
  bool backward_ = false, apart_ = false;
  Reread out_;
};

}  // namespace

L2Model l2_model(const Machine& machine) {
  L2Model out;
  for (std::size_t l = 1; l < machine.levels.size(); ++l) {
    const Level& level = machine.levels[l];
    const bool one = machine.nodes(static_cast<LevelId>(l)) == Count(1);
    if (level.parent == 0 && level.kind == LevelKind::cache && one && level.capacity.known())
      out.bytes = level.capacity.best().value;
  }
  out.partitions = std::max(static_cast<int>(machine.constant_or("l2_partitions", 0)), 1);
  out.ways = static_cast<int>(machine.constant_or("l2_ways", 0));
  out.bytes /= out.partitions;
  return out;
}

double chance_gone(const L2Model& l2, double own_bytes, double other_bytes) {
  if (l2.bytes <= 0) return 0;
  if (l2.ways <= 0) return own_bytes + other_bytes > l2.bytes ? 1 : 0;
  const double mean = l2.ways * other_bytes / l2.bytes;
  double term = std::exp(-mean), kept = term;
  for (int others = 1; others < l2.ways; ++others) kept += term *= mean / others;
  return std::max(1 - kept, 0.0);
}

Reread reread(const PlacedDiagram& placed, const L2Model& l2, Count running, std::optional<Count> section, Pace pace) {
  if (!placed.packed.empty() && !takes_one_sequence(placed)) {
    Reread sum;
    for (const PackedPart& part : placed.packed) {
      const Reread own = part.blank ? Reread{} : reread(part.placed, l2, running, section, pace);
      sum.bytes += own.bytes;
      sum.first += own.first;
      sum.extrapolated = sum.extrapolated || own.extrapolated;
    }
    return sum;
  }
  return Acted(placed, l2, std::clamp<std::int64_t>(running.get(), 1, placed.blocks.get()), section, pace).act_out();
}

Bytes reread_bytes(const PlacedDiagram& placed, Count blocks_a_node, Pace pace) {
  const L2Model l2 = l2_model(*placed.machine);
  if (l2.bytes <= 0 || placed.blocks <= Count(1)) return {};
  const Count cluster = std::max(placed.cluster, Count(1));
  const Count nodes = std::max(placed.machine->compute_nodes() / cluster * cluster, Count(1));
  const Count again(
      std::llround(reread(placed, l2, nodes * std::max(blocks_a_node, Count(1)), std::nullopt, pace).bytes));
  // What is extrapolated is a guess; that no more is read again than was asked for is none.
  const std::vector<LevelTransfer> moved = transfers(placed);
  if (moved.size() < 2) return {};
  const Count asked = std::max(moved[1].load.value, moved[0].load.value);
  return Bytes(std::min(again, asked - moved[0].load.value));
}

}  // namespace napkin
