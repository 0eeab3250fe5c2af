// The simulation of a launch, which finds what device memory sends again. (reuse.hpp)

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "model/resource/block_touches.hpp"
#include "model/resource/order.hpp"
#include "model/resource/reuse.hpp"
#include "model/resource/touches.hpp"
#include "model/resource/walks.hpp"

namespace napkin::internal {
namespace {

constexpr std::int64_t most_steps = std::int64_t{1} << 16;  // steps of all blocks together

/// A running block: it takes its first segment at step `begins`, its last at `ends`.
struct Running {
  BlockTouches::Block touches;
  std::int64_t begins = 0, ends = -1;
  std::size_t walk = 0;  // blocks of one walk stream the same segments at the same steps
};

/// An array as a block touches it, or streamed arrays with the same axes that follow one another: a block touches
/// their pieces one after another, and so does whoever touches them again.
struct Touched {
  enum class At { begin, segment, end } at = At::begin;
  std::size_t first = 0, count = 1;  ///< arrays
  bool alone = false, stored = false;
  bool decides = false;  ///< true for the first streamed arrays with these axes, by which blocks join walks
};
std::vector<Touched> touched_in_order(const std::vector<TouchedArray>& arrays) {
  using At = Touched::At;
  std::vector<Touched> out;
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    const TouchedArray& array = arrays[a];
    const bool follows = a > 0 && array.streams && arrays[a - 1].streams && array.as == arrays[a - 1].as &&
                         !array.stored && !arrays[a - 1].stored;
    if (follows)
      ++out.back().count;
    else
      out.push_back({array.streams  ? At::segment
                     : array.stored ? At::end
                                    : At::begin,
                     a, 1, array.alone, array.stored, array.streams && array.index == 0});
  }
  return out;
}

/// Returns a number in [0, 1) such that any leading part of the sequence is evenly spread: the reversed bits of `i`
/// after the binary point.
double spread_evenly(std::int64_t i) {
  double out = 0;
  for (double bit = 0.5; i > 0; i /= 2, bit /= 2) out += i % 2 == 1 ? bit : 0;
  return out;
}

class Acted {
 public:
  Acted(const PlacedDiagram& placed, const L2Model& l2, std::int64_t running, std::optional<Count> section, Pace pace)
      : l2_(l2),
        blocks_(placed, l2.partitions, section, running),
        slots_(static_cast<std::size_t>(running)),
        held_(slots_.size() * blocks_.arrays().size()),
        turn_(slots_.size(), 0),
        ring_(std::bit_ceil(static_cast<std::size_t>(2 * blocks_.segments() + 3))),
        sets_(ring_ + 2, slots_.size()),
        leading_(sets_[ring_]),
        visited_(sets_[ring_ + 1]),
        apart_(pace == Pace::apart),
        touched_(touched_in_order(blocks_.arrays())),
        facts_(2 + touched_.size(), 0),
        walks_(slots_.size(), facts_.size()) {
    const BlockOrder order = blocks_.sequence().order();
    deals_out_ = order != BlockOrder::grid && order != BlockOrder::longest_first;
    for (std::size_t s = 0; s < slots_.size(); ++s)
      slots_[s].touches.pieces = held_.data() + s * blocks_.arrays().size();
  }

  /// Simulates the launch. In a step it visits only slots whose blocks begin, end, or touch for their walk; all slots
  /// if a mark of steps_ lies within the step.
  Reread act_out() {
    const auto all = static_cast<std::int64_t>(slots_.size());
    for (std::size_t s = 0; s < slots_.size(); ++s) due(0).put(s);
    left_ = all;
    for (; left_ > 0; ++step_) {
      const std::int64_t mark = steps_ < most_steps / 2 ? most_steps / 2 : most_steps;
      counts_ = steps_ + all >= mark;
      visited_.clear();
      visited_.add(due(step_));
      due(step_).clear();
      if (counts_) {
        for (std::size_t s = 0; s < slots_.size(); ++s) visited_.put(s);
      } else {
        visited_.add(leading_);
      }
      ended_.clear();
      if (!visited_.each([&](std::size_t slot) { return visit(slot); })) return going_on();
      if (!counts_) steps_ += running_;
      for (const std::size_t slot : ended_) end(slot);
    }
    return out_;
  }

 private:
  /// Returns the slots whose blocks begin or end in a step, of as many steps as a block may take.
  Slots due(std::int64_t step) { return sets_[static_cast<std::size_t>(step) & (ring_ - 1)]; }

  /// Advances a slot's block. Returns false if the simulation is cut off here.
  bool visit(std::size_t slot) {
    Running& block = slots_[slot];
    if (block.ends < step_ && !begin_next(slot)) return true;
    if (block.begins > step_) return true;
    if (counts_ && steps_ == most_steps) return false;
    advance(slot);
    if (counts_ && ++steps_ == most_steps / 2) half_ = out_.bytes;
    return true;
  }

  /// Begins the slot's next block. Returns false if there is none.
  bool begin_next(std::size_t slot) {
    Running& block = slots_[slot];
    if (block.begins == never) return false;
    const auto next_number = [&] {
      const auto all = static_cast<std::int64_t>(slots_.size());
      return deals_out_ ? turn_[slot]++ * all + static_cast<std::int64_t>(slot) : started_;
    };
    const std::int64_t size = blocks_.sequence().size();
    std::int64_t number = next_number();
    for (; number < size && !blocks_.find(number, block.touches); number = next_number()) ++started_;
    if (number >= size) {
      block.begins = never;
      --left_;
      return false;
    }
    ++started_;
    const std::int64_t steps = block.touches.last - block.touches.first;
    const auto waits =
        apart_ && step_ == 0
            ? static_cast<std::int64_t>(spread_evenly(static_cast<std::int64_t>(slot)) * static_cast<double>(steps))
            : 0;
    block.begins = step_ + waits;
    block.ends = block.begins + steps - 1;
    join_walk(slot);
    for (const std::int64_t step : {block.begins, block.ends}) {
      if (step > step_) due(step).put(slot);
    }
    return true;
  }

  /// Ends the slot's block after a step; another block of its walk then touches for the walk.
  void end(std::size_t slot) {
    --running_;
    const std::size_t walk = slots_[slot].walk;
    due(step_ + 1).put(slot);
    leading_.drop(slot);
    const bool led = walks_[walk].leader == slot;
    if (!walks_.leave(walk, slot) || !led) return;
    walks_.members(walk).each([&](std::size_t s) {
      const Running& other = slots_[s];
      if (other.begins > step_ || other.ends <= step_) return true;
      leading_.put(s);
      walks_[walk].leader = s;
      return false;
    });
  }

  /// Extrapolates a simulation that was cut off: the remaining steps read as much again as those of its second half.
  Reread going_on() {
    const double left = blocks_.all_steps() - static_cast<double>(most_steps);
    out_.bytes += (out_.bytes - half_) * std::max(left, 0.0) / static_cast<double>(most_steps / 2);
    out_.extrapolated = true;
    return out_;
  }

  /// Joins the block to a walk: blocks that stream the same pieces and began in the same step, or as much later as they
  /// begin farther along, stay together to their ends, so that one of them touches for all.
  void join_walk(std::size_t slot) {
    Running& block = slots_[slot];
    const BlockTouches::Block& touches = block.touches;
    std::size_t fact = 0;
    facts_[fact++] = touches.lengths;
    facts_[fact++] =
        static_cast<std::uint64_t>(blocks_.backward() ? block.begins + touches.last : block.begins - touches.first);
    for (const Touched& one : touched_) {
      const BlockPieces& pieces = touches.pieces[one.first];
      if (one.decides) facts_[fact++] = 2 * pieces.first + (pieces.bytes > 0 ? 1 : 0);
    }
    block.walk = walks_.join(facts_, slot);
  }

  void advance(std::size_t slot) {
    const Running& block = slots_[slot];
    Walks::Walk& walk = walks_[block.walk];
    const bool leads = walk.step != step_, begins = step_ == block.begins, ends = step_ == block.ends;
    if (leads) {
      leading_.put(slot);
      walk.step = step_;
      walk.leader = slot;
    } else {
      leading_.drop(slot);
    }
    if (!leads && !begins && !ends) return;
    if (begins) ++running_;
    for (const Touched& one : touched_) {
      if (one.at == Touched::At::segment) {
        if (leads) touch_segment(block, one);
      } else if (one.at == Touched::At::begin ? begins : ends) {
        touch(block.touches.pieces[one.first], one);
      }
    }
    if (ends) ended_.push_back(slot);
  }

  /// Touches a piece that is not streamed.
  void touch(const BlockPieces& piece, const Touched& array) {
    if (piece.bytes <= 0) return;
    if (!array.alone) {
      if (is_first_in_step(piece.first))
        read(array, piece.bytes, piece.kept, distances_.touch(piece.first, piece.kept));
      return;
    }
    distances_.pass(piece.kept);
    if (!array.stored) out_.first += piece.bytes;
  }

  /// Touches the block's current pieces of streamed arrays.
  void touch_segment(const Running& block, const Touched& arrays) {
    const BlockPieces* const pieces = block.touches.pieces + arrays.first;
    const BlockTouches::Segment segment = blocks_.segment(block.touches, step_ - block.begins);
    const std::size_t first = pieces->first + segment.index;
    if (pieces->bytes * segment.columns <= 0 || !is_first_in_step(first)) return;
    double all = 0;
    for (std::size_t i = 0; i < arrays.count; ++i) all += pieces[i].kept * segment.columns;
    const double others = distances_.touch(first, all);
    for (std::size_t i = 0; i < arrays.count; ++i) {
      const double own = pieces[i].kept * segment.columns;
      read(arrays, pieces[i].bytes * segment.columns, own, others < 0 ? others : others + (all - own));
    }
  }

  /// Returns true if no other block touched the piece in this step.
  bool is_first_in_step(std::size_t piece) {
    if (piece >= stamp_.size()) stamp_.resize(std::max(piece + 1, 2 * stamp_.size()), -1);
    return std::exchange(stamp_[piece], step_) != step_;
  }

  /// Counts the bytes of a piece that was touched so many other bytes ago; negative: never.
  void read(const Touched& array, double bytes, double own, double others) {
    if (array.stored) return;
    if (others < 0)
      out_.first += bytes;
    else
      out_.bytes += bytes * gone_after(own, others);
  }

  /// Returns chance_gone(), kept in a table: blocks in step meet pieces again and again after equally many bytes.
  double gone_after(double own, double others) {
    const std::uint64_t place = (std::bit_cast<std::uint64_t>(others) * 0x9E3779B97F4A7C15U) >> 57U;
    Gone& known = gone_[place];
    if (known.others != others || known.own != own) known = {own, others, chance_gone(l2_, own, others)};
    return known.chance;
  }
  struct Gone {
    double own = 0, others = -1, chance = 0;
  };

  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  const L2Model& l2_;
  BlockTouches blocks_;
  std::vector<Running> slots_;
  std::vector<BlockPieces> held_;   // pieces by slot and array
  std::vector<std::int64_t> turn_;  // turns by slot, where blocks are dealt out
  std::size_t ring_;
  SetsOfSlots sets_;  // due(), leading_ and visited_
  Slots leading_, visited_;
  bool apart_ = false, deals_out_ = false;
  std::vector<Touched> touched_;
  std::vector<std::uint64_t> facts_;  // facts of the block that joins a walk
  Walks walks_;                       // walks by streamed pieces and the step that touches them
  std::int64_t started_ = 0;
  std::int64_t left_ = 0, running_ = 0;  // slots that may still get a block; blocks that have begun
  std::vector<std::size_t> ended_;       // walks that ended in this step
  std::int64_t step_ = 0, steps_ = 0;    // steps_: of all blocks
  bool counts_ = false;                  // steps_ block by block
  double half_ = 0;                      // bytes read again in the first half of most_steps
  std::vector<std::int64_t> stamp_;      // step in which each piece was touched last
  Distances distances_;
  std::array<Gone, 128> gone_;  // latest results of chance_gone(), by a hash of the bytes
  Reread out_;
};

}  // namespace

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

}  // namespace napkin::internal
