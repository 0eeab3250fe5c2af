#include "model/clock/launch/packed_launch.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "model/clock/launch/ends.hpp"
#include "model/clock/launch/first_free.hpp"
#include "model/resource/order.hpp"

namespace napkin::internal {
namespace {

/// The launch of a packed batch, whose blocks have the clocks of their sequences' rows. If many
/// neighbouring planes have sequences of one length, only the first and the last are simulated, enough of them to reach
/// every node; the planes between add an even share to each node.
class PackedLaunch {
 public:
  PackedLaunch(const PlacedDiagram& placed, const EventGraph& graph, const Period& period, const LaunchShape& shape)
      : placed_(placed),
        sequence_(placed),
        own_(shape.blocks == nullptr ? std::make_unique<PackedBlocks>(placed, sequence_) : nullptr),
        blocks_(own_ != nullptr ? *own_ : *shape.blocks),
        empty_(empty_block_clocks(placed)),
        first_free_(goes_to_first_free(sequence_.order())),
        unequal_(shape.unequal && placed.across.has_value()),
        busy_(static_cast<std::size_t>(shape.who.nodes), 0.0),
        begun_(busy_.size(), false),
        free_(busy_.size(), empty_) {
    for (const PackedPart& part : placed.packed) {
      const LaunchShape own_shape = launch_shape(part.placed);
      Part own{Ends(block_ends(part.placed), clocks_of_mean(graph, period, own_shape)), block_lengths(part.placed), 0};
      own.block = own.ends.each - own_shape.mean * period.clocks;
      if (part.blank) own = {own.ends, {0.0}, std::max(own.block, 0.0)};
      for (double& length : own.lengths) length = length * period.clocks + own.block;
      parts_.push_back(std::move(own));
    }
  }

  [[nodiscard]] LaunchClocks run() {
    const std::int64_t unit = planes_a_round();
    std::int64_t next = 0;
    for (const PackedBlocks::Run& run : blocks_.runs()) {
      if (unit == 0) break;
      const auto each = static_cast<double>(std::max<std::int64_t>(blocks_.rows(run.part), 1) * unit);
      const auto acted = unit * static_cast<std::int64_t>(std::ceil(blocks_acted * real_nodes() / each));
      const std::int64_t first = (run.first + unit - 1) / unit * unit + acted, last = run.last / unit * unit - acted;
      if (last <= first) continue;
      act_out(next, first);
      spread(last - first, run);
      next = last;
    }
    act_out(next, sequence_.planes());
    if (first_free_) busy_ = free_.clocks();
    return {*std::max_element(busy_.begin(), busy_.end()),
            std::accumulate(busy_.begin(), busy_.end(), 0.0) / real_nodes(),
            longest_,
            0,
            0,
            planes()};
  }

 private:
  static constexpr double blocks_acted = 16;  // a node, at each end
  struct Part {
    Ends ends;
    std::vector<double>
        lengths;       // clocks of the blocks of one plane, in order, or of all; none: each is of the mean length
    double block = 0;  // clocks of a block beyond its iterations
  };

  /// Lists the planes if a mask makes their blocks unequal, and these start in the grid's order; else null.
  [[nodiscard]] std::shared_ptr<const BlockPlanes> planes() const {
    if (!unequal_ || sequence_.order() != BlockOrder::grid || sequence_.axes().back() != *placed_.across)
      return nullptr;
    BlockPlanes out;
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      std::vector<EqualBlocks>& plane = out.kinds.emplace_back();
      for (std::int64_t row = 0; row < blocks_.rows(static_cast<int>(part)); ++row) {
        const double clocks = clocks_of(parts_[part], {row, 0});
        if (plane.empty() || plane.back().iterations != clocks) plane.push_back({clocks, 0});
        ++plane.back().blocks;
      }
    }
    for (const PackedBlocks::Run& run : blocks_.runs()) {
      if (run.part >= 0) out.runs.push_back({static_cast<std::size_t>(run.part), run.last - run.first});
    }
    return std::make_shared<const BlockPlanes>(std::move(out));
  }

  [[nodiscard]] double real_nodes() const { return static_cast<double>(busy_.size()); }

  /// Returns the number of planes after which the order of blocks repeats, a round; 0: it does not.
  [[nodiscard]] std::int64_t planes_a_round() const {
    switch (sequence_.order()) {
      case BlockOrder::grid:
      case BlockOrder::persistent: return 1;
      case BlockOrder::longest_first: return sequence_.section();
      default: return 0;
    }
  }

  /// Runs the blocks of some planes, from the beginning of a round on.
  void act_out(std::int64_t first, std::int64_t last) {
    if (planes_a_round() == 1) return act_out_planes(first, last);
    const std::int64_t rows = sequence_.rows(), round = std::max<std::int64_t>(planes_a_round(), 1);
    for (std::int64_t plane = first; plane < last; plane += round) {
      const std::int64_t end = std::min(plane + round, last);
      for (std::int64_t i = plane * rows + skip_rows(plane, end); i < end * rows; ++i) {
        const BlockPlace place = sequence_.at(i);
        if (const int part = blocks_.part_of(place); part < 0)
          add_empty(i, 1);
        else
          add(i, place, part);
      }
    }
  }

  /// Runs the first blocks of a round that lie beyond all its sequences, where it begins with the last rows. Returns
  /// their number.
  std::int64_t skip_rows(std::int64_t first, std::int64_t last) {
    if (sequence_.order() != BlockOrder::longest_first) return 0;
    const std::int64_t cluster = std::max<std::int64_t>(placed_.cluster.get(), 1);
    std::int64_t most = 0;
    for (std::int64_t plane = first; plane < last; ++plane)
      most = std::max(most, blocks_.rows(blocks_.part_of_plane(plane)));
    const std::int64_t blocks = std::max<std::int64_t>(sequence_.rows() - most, 0) / cluster * cluster * (last - first);
    add_empty(first * sequence_.rows(), blocks);
    return blocks;
  }

  /// Runs the blocks of some planes, plane after plane.
  void act_out_planes(std::int64_t first, std::int64_t last) {
    const std::int64_t rows = sequence_.rows();
    for (const PackedBlocks::Run& run : blocks_.runs()) {
      const std::int64_t own = std::min(blocks_.rows(run.part), rows), end = std::min(run.last, last);
      for (std::int64_t plane = std::max(run.first, first); plane < end; ++plane) {
        for (std::int64_t row = 0; row < own; ++row) add(plane * rows + row, {row, plane}, run.part);
        add_empty(plane * rows + own, rows - own);
      }
    }
  }

  /// Runs a block of a sequence.
  void add(std::int64_t index, const BlockPlace& place, int part) {
    const std::size_t node = first_free_ ? free_.node() : static_cast<std::size_t>(index) % busy_.size();
    const Part& own = parts_[static_cast<std::size_t>(part)];
    const double clocks = clocks_of(own, place) + (begun_[node] ? 0 : own.ends.start);
    begun_[node] = true;
    longest_ = std::max(longest_, clocks);
    if (first_free_)
      free_.run(clocks);
    else
      busy_[node] += clocks;
  }

  /// Runs so many blocks beyond their sequences, which follow one another.
  void add_empty(std::int64_t index, std::int64_t blocks) {
    if (blocks <= 0 || empty_ <= 0) return;
    longest_ = std::max(longest_, empty_);
    if (first_free_) return free_.run_idle(blocks);
    for (std::int64_t i = index; i < index + blocks; ++i) busy_[static_cast<std::size_t>(i) % busy_.size()] += empty_;
  }

  void spread(std::int64_t planes, const PackedBlocks::Run& run) {
    const std::int64_t own = std::min(blocks_.rows(run.part), sequence_.rows());
    double clocks = static_cast<double>(sequence_.rows() - own) * std::max(empty_, 0.0);
    for (std::int64_t row = 0; row < own; ++row)
      clocks += clocks_of(parts_[static_cast<std::size_t>(run.part)], {row, run.first});
    const double share = clocks * static_cast<double>(planes) / real_nodes();
    for (double& busy : busy_) busy += share;
    if (first_free_) free_.run_all(share);
  }

  [[nodiscard]] double clocks_of(const Part& part, const BlockPlace& place) const {
    if (part.lengths.size() < 2) return part.lengths.empty() ? part.ends.each : part.lengths.front();
    if (sequence_.axes().back() == *placed_.across) return part.lengths[static_cast<std::size_t>(place.row)];
    std::vector<std::int64_t> coordinates;
    sequence_.coordinates(place, coordinates);
    return part.lengths[static_cast<std::size_t>(coordinates[static_cast<std::size_t>(*placed_.across)])];
  }

  const PlacedDiagram& placed_;
  BlockSequence sequence_;
  std::unique_ptr<const PackedBlocks> own_;
  const PackedBlocks& blocks_;
  std::vector<Part> parts_;
  double empty_;
  bool first_free_, unequal_;
  double longest_ = 0;  // clocks of a block
  std::vector<double> busy_;
  std::vector<bool> begun_;
  FirstFree free_;
};

/// Returns the clocks to draw the next tile from the L2 and to tell the block's other threads (eq. 15.4); 0 if tiles
/// are dealt out.
double draw_clocks(const PlacedDiagram& placed) {
  if (!goes_to_first_free(block_order(placed))) return 0;
  const Pipe* pipe = placed.machine->pipe_into(placed.block().level);
  return (pipe != nullptr && pipe->latency ? pipe->latency->value : 0) +
         placed.machine->constant_or("handover_mbarrier", 0);
}

}  // namespace

double empty_block_clocks(const PlacedDiagram& placed) {
  const Machine& machine = *placed.machine;
  return blocks_persist(placed) ? draw_clocks(placed) : machine.constant_or("block_overhead", 0);
}

LaunchClocks packed_launch_clocks(const PlacedDiagram& placed, const EventGraph& graph, const Period& period,
                                  const LaunchShape& shape) {
  return PackedLaunch(placed, graph, period, shape).run();
}

}  // namespace napkin::internal
