#include "model/clock/launch/packed_launch.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "model/clock/launch/ends.hpp"
#include "model/resource/order.hpp"

namespace napkin::internal {
namespace {

/// A queue of nodes by the clocks that each has run so far, which gives the first free one.
class FirstFree {
 public:
  explicit FirstFree(std::size_t nodes) : heap_(nodes) {
    for (std::size_t n = 0; n < nodes; ++n) heap_[n].node = n;
  }
  [[nodiscard]] std::size_t node() const { return heap_.front().node; }
  /// Adds that many clocks to every node.
  void run_all(double clocks) {
    for (Node& node : heap_) node.until += clocks;
  }
  /// Adds that many clocks to the current node().
  void run(double clocks) {
    Node moved = heap_.front();
    moved.until += clocks;
    std::size_t at = 0;
    for (std::size_t next = 1; next < heap_.size(); next = 2 * at + 1) {
      if (next + 1 < heap_.size() && heap_[next + 1] < heap_[next]) ++next;
      if (!(heap_[next] < moved)) break;
      heap_[at] = heap_[next];
      at = next;
    }
    heap_[at] = moved;
  }

 private:
  struct Node {
    double until = 0;
    std::size_t node = 0;
    friend bool operator<(const Node& a, const Node& b) {
      return a.until != b.until ? a.until < b.until : a.node < b.node;
    }
  };
  std::vector<Node> heap_;  // the least on top
};

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
        busy_(static_cast<std::size_t>(shape.who.nodes), 0.0),
        begun_(busy_.size(), false),
        free_(busy_.size()) {
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
    return {*std::max_element(busy_.begin(), busy_.end()),
            std::accumulate(busy_.begin(), busy_.end(), 0.0) / real_nodes(), longest_};
  }

 private:
  static constexpr double blocks_acted = 16;  // a node, at each end
  struct Part {
    Ends ends;
    std::vector<double>
        lengths;       // clocks of the blocks of one plane, in order, or of all; none: each is of the mean length
    double block = 0;  // clocks of a block beyond its iterations
  };

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

  void act_out(std::int64_t first, std::int64_t last) {
    const std::int64_t rows = sequence_.rows();
    if (planes_a_round() != 1) {
      for (std::int64_t i = first * rows; i < last * rows; ++i) {
        const BlockPlace place = sequence_.at(i);
        add(i, place, blocks_.part_of(place));
      }
      return;
    }
    for (std::int64_t plane = first; plane < last; ++plane) {
      const int part = blocks_.part_of_plane(plane);
      const std::int64_t own = std::min(blocks_.rows(part), rows);
      for (std::int64_t row = 0; row < own; ++row) add(plane * rows + row, {row, plane}, part);
      for (std::int64_t row = own; row < rows && empty_ > 0; ++row) add(plane * rows + row, {row, plane}, -1);
    }
  }

  void add(std::int64_t index, const BlockPlace& place, int part) {
    if (part < 0 && empty_ <= 0) return;
    const std::size_t node = first_free_ ? free_.node() : static_cast<std::size_t>(index) % busy_.size();
    double clocks = empty_;
    if (part >= 0) {
      const Part& own = parts_[static_cast<std::size_t>(part)];
      clocks = clocks_of(own, place) + (begun_[node] ? 0 : own.ends.start);
      begun_[node] = true;
    }
    busy_[node] += clocks;
    longest_ = std::max(longest_, clocks);
    if (first_free_) free_.run(clocks);
  }

  void spread(std::int64_t planes, const PackedBlocks::Run& run) {
    const std::int64_t own = std::min(blocks_.rows(run.part), sequence_.rows());
    double clocks = static_cast<double>(sequence_.rows() - own) * std::max(empty_, 0.0);
    for (std::int64_t row = 0; row < own; ++row)
      clocks += clocks_of(parts_[static_cast<std::size_t>(run.part)], {row, run.first});
    const double share = clocks * static_cast<double>(planes) / real_nodes();
    for (double& busy : busy_) busy += share;
    free_.run_all(share);
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
  bool first_free_;
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
