#include "model/resource/reuse.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "model/resource/block_touches.hpp"
#include "model/resource/order.hpp"
#include "model/resource/resources.hpp"
#include "model/resource/touches.hpp"
#include "model/resource/walks.hpp"

namespace napkin::internal {
namespace {

constexpr std::int64_t most_steps = std::int64_t{1} << 16;  // of all blocks together

/// A running block: it takes its first segment at step `begins`, its last at `ends`.
struct Running {
  BlockTouches::Block touches;
  std::int64_t begins = 0, ends = -1;
  std::size_t walk = 0;  // blocks of one walk stream the same segments at the same steps
};

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
        due_(static_cast<std::size_t>(2 * blocks_.segments() + 3), Slots(slots_.size())),
        leading_(slots_.size()),
        visited_(slots_.size()),
        apart_(pace == Pace::apart),
        walks_(slots_.size(), most_facts()) {
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
      visited_ = due(step_);
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
  Slots& due(std::int64_t step) { return due_[static_cast<std::size_t>(step) % due_.size()]; }

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
    walks_[walk].members.each([&](std::size_t s) {
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
    facts_.assign(1, touches.lengths);
    for (std::size_t a = 0; a < blocks_.arrays().size(); ++a) {
      const TouchedArray& array = blocks_.arrays()[a];
      if (array.streams && array.index == 0)
        facts_.push_back(2 * touches.pieces[a].first + (touches.pieces[a].bytes > 0 ? 1 : 0));
    }
    facts_.push_back(
        static_cast<std::uint64_t>(blocks_.backward() ? block.begins + touches.last : block.begins - touches.first));
    facts_.resize(most_facts(), 0);
    block.walk = walks_.join(facts_, slot);
  }
  [[nodiscard]] std::size_t most_facts() const { return blocks_.arrays().size() + 2; }

  void advance(std::size_t slot) {
    const Running& block = slots_[slot];
    Walks::Walk& walk = walks_[block.walk];
    const bool leads = walk.step != step_, begins = step_ == block.begins, ends = step_ == block.ends;
    if (begins) ++running_;
    if (leads) {
      leading_.put(slot);
      walk.step = step_;
      walk.leader = slot;
    } else {
      leading_.drop(slot);
    }
    for (std::size_t a = 0; (leads || ends || begins) && a < blocks_.arrays().size(); ++a) {
      const TouchedArray& array = blocks_.arrays()[a];
      if (array.streams ? leads : array.stored ? ends : begins)
        touch(blocks_.touched(block.touches, a, step_ - block.begins), array, block.touches.lengths);
    }
    if (ends) ended_.push_back(slot);
  }

  void touch(const BlockPieces& piece, const TouchedArray& array, std::size_t lengths) {
    if (piece.bytes <= 0) return;
    const double own = piece.bytes * array.copies[lengths];
    if (array.alone) {
      distances_.pass(own);
      if (!array.stored) out_.first += piece.bytes;
      return;
    }
    if (piece.first >= stamp_.size()) stamp_.resize(std::max(piece.first + 1, 2 * stamp_.size()), -1);
    if (stamp_[piece.first] == step_) return;  // another block touched it in this step
    stamp_[piece.first] = step_;
    const double others = distances_.touch(piece.first, own);
    if (array.stored) return;
    if (others < 0)
      out_.first += piece.bytes;
    else
      out_.bytes += piece.bytes * gone_after(own, others);
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
  std::vector<BlockPieces> held_;   // by slot and array
  std::vector<std::int64_t> turn_;  // by slot, where blocks are dealt out
  std::vector<Slots> due_;          // by step, in turn: whose blocks begin or end
  Slots leading_, visited_;
  bool apart_ = false, deals_out_ = false;
  std::int64_t started_ = 0;
  std::int64_t left_ = 0, running_ = 0;  // slots that may still get a block; blocks that have begun
  Walks walks_;                          // by streamed pieces and the step that touches them
  std::vector<std::uint64_t> facts_;     // facts of the block that joins a walk
  std::vector<std::size_t> ended_;       // walks that ended in this step
  std::int64_t step_ = 0, steps_ = 0;    // steps_: of all blocks
  bool counts_ = false;                  // steps_ block by block
  double half_ = 0;                      // bytes read again in the first half of most_steps
  std::vector<std::int64_t> stamp_;      // by piece: the step in which it was touched last
  Distances distances_;
  std::array<Gone, 128> gone_;  // latest results of chance_gone(), by a hash of the bytes
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

Count blocks_at_a_time(const PlacedDiagram& placed, Count blocks_a_node) {
  const Count cluster = std::max(placed.cluster, Count(1));
  const Count nodes = std::max(placed.machine->compute_nodes() / cluster * cluster, Count(1));
  return nodes * std::max(blocks_a_node, Count(1));
}

namespace {

/// Returns the bytes that a simulated launch reads again.
Count acted_out(const PlacedDiagram& placed, Count blocks_a_node, Pace pace) {
  const L2Model l2 = l2_model(*placed.machine);
  if (l2.bytes <= 0 || placed.blocks <= Count(1)) return 0;
  return Count(std::llround(reread(placed, l2, blocks_at_a_time(placed, blocks_a_node), std::nullopt, pace).bytes));
}

/// Limits the bytes that were read again to those that were asked for again: the first may be extrapolated, the second
/// are exact.
Bytes at_most_asked(const PlacedDiagram& placed, Count again) {
  if (again == Count(0)) return {};
  const std::vector<LevelTransfer> moved = transfers(placed);
  if (moved.size() < 2) return {};
  const Count asked = std::max(moved[1].load.value, moved[0].load.value);
  return Bytes(std::min(again, asked - moved[0].load.value));
}

}  // namespace

Bytes reread_bytes(const PlacedDiagram& placed, Count blocks_a_node, Pace pace) {
  return at_most_asked(placed, acted_out(placed, blocks_a_node, pace));
}

double KnownRereads::of(const PlacedDiagram& placed, Count blocks_a_node, const Negligible& negligible) {
  const auto order = placed.mapping->order_knob();
  std::vector<std::int64_t> key{static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(placed.variant.get())),
                                order ? placed.tile.values[static_cast<std::size_t>(*order)] : 0, placed.cluster.get(),
                                blocks_a_node.get(), walks_backward(placed) ? 1 : 0};
  for (const Count extent : placed.block().extent) key.push_back(extent.get());
  key.push_back(segment_of(placed));  // the pieces depend on nothing else of the chunk
  std::optional<Count>& acted = acted_[key];
  key.back() = placed.block().chunk.get();
  Known& known = known_[std::move(key)];
  if (known.exact || negligible(known.bytes)) return known.bytes;
  known.bytes = reread_at_most(placed, blocks_a_node);  // simulating the launch takes longer than everything else
  if (negligible(known.bytes)) return known.bytes;
  if (left_ == 0) return std::numeric_limits<double>::infinity();
  --left_;
  if (!acted) acted = acted_out(placed, blocks_a_node, Pace::together);
  known = {real(at_most_asked(placed, *acted).value), true};
  return known.bytes;
}

}  // namespace napkin::internal
