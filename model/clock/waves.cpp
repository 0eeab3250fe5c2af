#include "model/clock/waves.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <queue>
#include <string_view>
#include <vector>

#include "model/clock/load.hpp"
#include "model/diagram/visits.hpp"
#include "model/resource/order.hpp"

namespace napkin {
namespace {

/// Whether a mask makes blocks unequally long, and the stream is not split among blocks too.
bool unequal(const PlacedDiagram& placed) {
  const Streamed& streamed = *placed.streamed;
  if (!placed.across || !streamed.skips || !streamed.stream || placed.problem->mask.kind == Mask::Kind::none) return false;
  return !(placed.block().groups_of[static_cast<std::size_t>(*streamed.stream)] > Count(1));
}

/// Iterations of the blocks of one plane of the mask, in order, where they are unequal.
std::optional<std::vector<double>> lengths_of(const PlacedDiagram& placed) {
  if (!unequal(placed)) return std::nullopt;
  const Streamed& streamed = *placed.streamed;
  const auto size = [&](AxisId axis) { return placed.problem->sizes[static_cast<std::size_t>(axis)].get(); };
  const auto [row_axis, column_axis] = *streamed.skips;
  const std::int64_t members = size(*placed.across), group = placed.walk.across.get(), chunk = placed.block().chunk.get();
  std::vector<double> out;
  for (std::int64_t first = 0; first < members; first += group) {
    const std::int64_t last = std::min(first + group, members);
    const Span seen = *placed.across == row_axis ? visible(placed.problem->mask, first, last, size(row_axis), size(column_axis))
                                                 : visible_rows(placed.problem->mask, first, last, size(row_axis), size(column_axis));
    out.push_back(seen.size() > 0 ? static_cast<double>((seen.last + chunk - 1) / chunk - seen.first / chunk) : 0.0);
  }
  return out;
}

/// The time of the node that is busy longest, with `planes` times those blocks, each of so many iterations, plus `start`.
class Nodes {
 public:
  Nodes(int nodes, double iteration, double block) : iteration_(iteration), block_(block), busy_(static_cast<std::size_t>(nodes), 0.0) {}

  double run(std::vector<double> lengths, int planes, BlockOrder order) {
    if (order == BlockOrder::longest_first) {  // of equal length all planes' in turn
      std::sort(lengths.begin(), lengths.end(), std::greater<>());
      for (const double length : lengths) {
        for (int i = 0; i < planes; ++i) to_first_free(length);
      }
    } else {
      for (int i = 0; i < planes; ++i) {
        for (const double length : lengths) order == BlockOrder::grid ? to_first_free(length) : to_next(length);
      }
    }
    while (free_.size() > 1) free_.pop();
    return free_.empty() ? *std::max_element(busy_.begin(), busy_.end()) : free_.top();
  }

 private:
  [[nodiscard]] double time(double length) const { return length * iteration_ + block_; }
  void to_next(double length) { busy_[next_++ % busy_.size()] += time(length); }
  void to_first_free(double length) {
    double at = 0;
    if (free_.size() == busy_.size()) {
      at = free_.top();
      free_.pop();
    }
    free_.push(at + time(length));
  }

  double iteration_, block_;
  std::vector<double> busy_;
  std::size_t next_ = 0;
  std::priority_queue<double, std::vector<double>, std::greater<>> free_;
};

/// Whether a node's blocks are one launched block's tiles, one after the other. Order longest_first stands for tiles drawn
/// by such blocks where the kernel has order persistent too, else for blocks launched in that order.
bool blocks_persist(const PlacedDiagram& placed) {
  const BlockOrder order = block_order(placed);
  if (order != BlockOrder::longest_first) return order != BlockOrder::grid;
  const auto& knobs = placed.mapping->knobs;
  const auto knob = std::find_if(knobs.begin(), knobs.end(), [](const Knob& k) { return k.name == "order"; });
  return knob != knobs.end() && std::find(knob->words.begin(), knob->words.end(), "persistent") != knob->words.end();
}

/// Whether blocks are drawn or launched one after the other, each by the first node that is free.
bool goes_to_first_free(BlockOrder order) { return order == BlockOrder::grid || order == BlockOrder::longest_first; }

/// The first block of a node beyond those behind it, and one of these.
struct Ends {
  Schedule who;
  double total = 1, mean = 0;  // blocks; iterations of one
  double start = 0, each = 0;

  Ends(const PlacedDiagram& placed, const EventGraph& graph, const Period& period) : who(schedule(placed)) {
    total = std::max(who.total_blocks, 1.0);
    mean = who.total_iterations / total;
    BlockClocks block = block_clocks(graph, period, mean, graph.has_cut_work() ? cut_chunks(placed) : CutChunks{});
    block.first += placed.machine->constant("block_start");
    each = blocks_persist(placed) ? block.next : block.first + placed.machine->constant("block_handover");
    start = block.first - each;
  }
  [[nodiscard]] double all() const { return start + total / who.nodes * each; }
  /// The mean block stands for all ends of blocks; an iteration more or less takes the period.
  [[nodiscard]] double alike(const Period& period) const {
    return start + who.blocks * each + (who.iterations - who.blocks * mean) * period.clocks;
  }
};

/// What each node has run so far, and which is free first.
class FirstFree {
 public:
  explicit FirstFree(std::size_t nodes) : heap_(nodes) {
    for (std::size_t n = 0; n < nodes; ++n) heap_[n].node = n;
  }
  [[nodiscard]] std::size_t node() const { return heap_.front().node; }
  /// Gives it that many clocks more.
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
    friend bool operator<(const Node& a, const Node& b) { return a.until != b.until ? a.until < b.until : a.node < b.node; }
  };
  std::vector<Node> heap_;  // the least on top
};

/// The blocks of a packed batch, each with the clocks of its rows of its sequence.
class PackedLaunch {
 public:
  PackedLaunch(const PlacedDiagram& placed, const EventGraph& graph, const Period& period)
      : placed_(placed), sequence_(placed), empty_(empty_block_clocks(placed)) {
    for (const PackedPart& part : placed.packed) {
      Part own{Ends(part.placed, graph, period), {}, 0};
      if (const auto lengths = lengths_of(part.placed)) own.lengths = *lengths;
      own.block = own.ends.each - own.ends.mean * period.clocks;
      if (part.blank) own = {own.ends, {0.0}, std::max(own.block, 0.0)};
      for (double& length : own.lengths) length = length * period.clocks + own.block;
      parts_.push_back(std::move(own));
    }
    nodes_ = parts_.front().ends.who.nodes;
  }

  [[nodiscard]] LaunchClocks run() const {
    const PackedBlocks blocks(placed_, sequence_);
    const bool first_free = goes_to_first_free(sequence_.order());
    std::vector<double> busy(static_cast<std::size_t>(nodes_), 0.0);
    std::vector<bool> begun(busy.size(), false);
    FirstFree free(busy.size());
    for (std::int64_t i = 0; i < sequence_.size(); ++i) {
      const BlockPlace place = sequence_.at(i);
      const int part = blocks.part_of(place);
      if (part < 0 && empty_ <= 0) continue;
      const std::size_t node = first_free ? free.node() : static_cast<std::size_t>(i) % busy.size();
      double clocks = empty_;
      if (part >= 0) {
        const Part& own = parts_[static_cast<std::size_t>(part)];
        clocks = clocks_of(own, place) + (begun[node] ? 0 : own.ends.start);
        begun[node] = true;
      }
      busy[node] += clocks;
      if (first_free) free.run(clocks);
    }
    return {*std::max_element(busy.begin(), busy.end()), std::accumulate(busy.begin(), busy.end(), 0.0) / nodes_};
  }

  /// Without what a node's first block takes beyond others.
  [[nodiscard]] double least() const {
    double all = 0, longest = 0, start = 0, blocks = 0;
    for (const Part& part : parts_) {
      const double each = part.lengths.empty() ? part.ends.each : mean_of(part.lengths);
      blocks += part.ends.total;
      all += part.ends.total * each;
      longest = std::max(longest, each);
      start = std::min(start, part.ends.start);  // order grid: less by the handover
    }
    all += (static_cast<double>(sequence_.size()) - blocks) * empty_;
    return start + std::max(all / nodes_, longest);
  }

 private:
  struct Part {
    Ends ends;
    std::vector<double> lengths;  // clocks of the blocks of one plane, in order, or of all; none: each is of the mean length
    double block = 0;             // clocks of a block beyond its iterations
  };

  [[nodiscard]] static double mean_of(const std::vector<double>& lengths) {
    return std::accumulate(lengths.begin(), lengths.end(), 0.0) / static_cast<double>(lengths.size());
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
  std::vector<Part> parts_;
  double empty_, nodes_ = 1;
};

}  // namespace

double empty_block_clocks(const PlacedDiagram& placed) {
  const Machine& machine = *placed.machine;
  if (!blocks_persist(placed)) return machine.constant("block_overhead");
  if (!goes_to_first_free(block_order(placed))) return 0;
  const Pipe* pipe = machine.pipe_into(placed.block().level);
  return (pipe != nullptr && pipe->latency ? pipe->latency->value : 0) + machine.constant("handover_mbarrier");
}

LaunchClocks launch_clocks(const PlacedDiagram& placed, const EventGraph& graph, const Period& period) {
  if (!placed.packed.empty()) return PackedLaunch(placed, graph, period).run();
  const Ends ends(placed, graph, period);
  const auto lengths = lengths_of(placed);
  if (!lengths) return {ends.alike(period), ends.all()};
  const int planes = static_cast<int>(ends.total) / static_cast<int>(lengths->size());
  Nodes nodes(static_cast<int>(ends.who.nodes), period.clocks, ends.each - ends.mean * period.clocks);
  return {ends.start + nodes.run(*lengths, planes, block_order(placed)), ends.all()};
}

double launch_clocks_bound(const PlacedDiagram& placed, const EventGraph& graph, const Period& period) {
  if (!placed.packed.empty()) return PackedLaunch(placed, graph, period).least();
  const Ends ends(placed, graph, period);
  if (!unequal(placed)) return ends.alike(period);
  return ends.start + std::max(ends.total / ends.who.nodes, 1.0) * ends.each;  // some node runs a block of mean length
}

}  // namespace napkin
