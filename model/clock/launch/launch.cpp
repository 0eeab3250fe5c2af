#include "model/clock/launch/launch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string_view>
#include <vector>

#include "model/clock/graph/copy_cost.hpp"
#include "model/clock/roofline/load.hpp"
#include "model/diagram/visits.hpp"
#include "model/resource/order.hpp"

namespace napkin {
namespace {

/// Whether a mask makes blocks unequally long, and the stream is not split among blocks too.
bool unequal(const PlacedDiagram& placed) {
  const Streamed& streamed = *placed.streamed;
  if (!placed.across || !streamed.skips || !streamed.stream || placed.problem->mask.kind == Mask::Kind::none)
    return false;
  return !(placed.block().groups_of[static_cast<std::size_t>(*streamed.stream)] > Count(1));
}

/// Blocks that go to the first node that is free.
class Nodes {
 public:
  Nodes(int nodes, double iteration, double block)
      : nodes_(nodes), iteration_(iteration), block_(block), free_(1, {0, nodes}) {}

  /// Nodes that are free at the same clock take blocks of one length together: they are free again at the same clock.
  void run(double length, std::int64_t blocks) {
    const double clocks = length * iteration_ + block_;
    if (clocks > 0 && blocks > nodes_) blocks = run_many(clocks, blocks);
    while (blocks > 0) {
      Free& first = free_[head_];
      const auto most = static_cast<int>(std::min<std::int64_t>(blocks, first.nodes));
      const int taken = clocks > 0 ? most : 1;  // else the same node is the first free again
      const Free later{first.at + clocks, taken};
      blocks -= taken;
      first.nodes -= taken;
      if (first.nodes == 0) ++head_;
      free_.insert(std::upper_bound(begin(), free_.end(), later, frees_sooner), later);
      if (head_ >= most_ended) forget_ended();
    }
  }
  [[nodiscard]] double busiest() const { return free_.back().at; }

 private:
  /// Nodes that are free from the same clock on.
  struct Free {
    double at;
    int nodes;
  };
  static constexpr std::size_t most_ended = 4096;

  static bool frees_sooner(const Free& a, const Free& b) { return a.at < b.at; }
  [[nodiscard]] std::vector<Free>::iterator begin() { return free_.begin() + static_cast<std::ptrdiff_t>(head_); }
  void forget_ended() {
    free_.erase(free_.begin(), begin());
    head_ = 0;
  }

  /// Of more blocks than nodes those that begin before the node that is free last is, then whole rounds of all nodes:
  /// by then each node takes one block in turn. Returns how many are left.
  std::int64_t run_many(double clocks, std::int64_t blocks) {
    forget_ended();
    const double last = free_.back().at;
    const auto before = [&](const Free& one) { return std::ceil((last - one.at) / clocks); };
    double needed = 0;
    for (const Free& one : free_) needed += before(one) * one.nodes;
    if (needed > static_cast<double>(blocks)) return blocks;
    for (Free& one : free_) one.at += before(one) * clocks;
    std::sort(free_.begin(), free_.end(), frees_sooner);
    blocks -= static_cast<std::int64_t>(needed);
    for (Free& one : free_) one.at += static_cast<double>(blocks / nodes_) * clocks;
    return blocks % nodes_;
  }

  int nodes_;
  double iteration_, block_;
  std::vector<Free> free_;  // the first at head_, sorted
  std::size_t head_ = 0;
};

/// Whether blocks are drawn or launched one after the other, each by the first node that is free.
bool goes_to_first_free(BlockOrder order) { return order == BlockOrder::grid || order == BlockOrder::longest_first; }

/// A draw of the next tile from the L2 and its message to the block's other threads (eq. 15.4); 0 where tiles are
/// dealt out.
double draw_clocks(const PlacedDiagram& placed) {
  if (!goes_to_first_free(block_order(placed))) return 0;
  const Pipe* pipe = placed.machine->pipe_into(placed.block().level);
  return (pipe != nullptr && pipe->latency ? pipe->latency->value : 0) +
         placed.machine->constant_or("handover_mbarrier", 0);
}

/// A node's first block beyond those behind it, and one of these.
struct Ends {
  double start = 0, each = 0;

  Ends(const BlockEnds& ends, const BlockClocks& block)
      : each(ends.persist ? block.next : block.first + ends.start + ends.handover) {
    start = block.first + ends.start - each;
  }
  /// The mean block stands for all ends of blocks; an iteration more or less takes the period.
  [[nodiscard]] double alike(const Schedule& who, double mean, double iteration) const {
    return start + who.blocks * each + (who.iterations - who.blocks * mean) * iteration;
  }
};

BlockClocks clocks_of_mean(const EventGraph& graph, const Period& period, const LaunchShape& shape) {
  return block_clocks(graph, period, shape.mean, shape.cut);
}

}  // namespace

std::vector<BlockLengths::Run> block_runs(const PlacedDiagram& placed) {
  if (!unequal(placed)) return {};
  const Streamed& streamed = *placed.streamed;
  const auto size = [&](AxisId axis) { return placed.problem->sizes[static_cast<std::size_t>(axis)].get(); };
  const auto [row_axis, column_axis] = *streamed.skips;
  const std::int64_t members = size(*placed.across), group = placed.walk.across.get(),
                     chunk = placed.block().chunk.get(), blocks = (members + group - 1) / group;
  const Mask& mask = placed.problem->mask;
  const std::int64_t rows = size(row_axis), columns = size(column_axis);
  const bool by_rows = *placed.across == row_axis;
  const VisibleSpans spans(mask, rows, columns, !by_rows);
  const auto chunks = [&](std::int64_t block) {
    const Span seen = spans(block * group, std::min(block * group + group, members));
    return seen.size() > 0 ? Span{seen.first / chunk, (seen.last + chunk - 1) / chunk} : Span{};
  };
  const Span seeing = by_rows ? visible_rows(mask, 0, columns, rows, columns) : visible(mask, 0, rows, rows, columns);
  const std::int64_t begin = seeing.first / group, end = (seeing.last + group - 1) / group;
  std::vector<BlockLengths::Run> out;
  const auto add = [&](std::int64_t iterations, std::int64_t count) {
    if (count <= 0) return;
    if (out.empty() || out.back().iterations != static_cast<double>(iterations))
      out.push_back({static_cast<double>(iterations), count});
    else
      out.back().blocks += count;
  };
  add(0, std::min(begin, blocks));
  for (std::int64_t k = begin; k < end;) {
    // What blocks see moves one way: between two that visit the same chunks all do.
    const Span here = chunks(k);
    const auto visits_these = [&](std::int64_t block) {
      const Span there = chunks(block);
      return there.first == here.first && there.last == here.last;
    };
    std::int64_t known = 1, step = 1;
    while (k + known + step <= end && visits_these(k + known + step - 1)) known += step, step *= 2;
    for (; step > 0; step /= 2) {
      if (k + known + step <= end && visits_these(k + known + step - 1)) known += step;
    }
    add(here.size(), known);
    k += known;
  }
  add(0, blocks - std::max(end, begin));
  return out;
}

std::vector<double> block_lengths(const PlacedDiagram& placed) {
  std::vector<double> out;
  for (const BlockLengths::Run& run : block_runs(placed))
    out.insert(out.end(), static_cast<std::size_t>(run.blocks), run.iterations);
  return out;
}

BlockLengths block_lengths(const PlacedDiagram& placed, const LaunchShape& shape) {
  std::vector<BlockLengths::Run> in_order = block_runs(placed);
  double blocks = 0;
  for (const BlockLengths::Run& run : in_order) blocks += static_cast<double>(run.blocks);
  return {std::move(in_order), std::floor(std::max(shape.who.total_blocks, 1.0) / blocks), shape.who.nodes};
}

BlockLengths::BlockLengths(std::vector<Run> in_order, double planes, double nodes)
    : in_order_(std::move(in_order)), planes_(static_cast<std::int64_t>(planes)), nodes_(static_cast<int>(nodes)) {}

/// Blocks of the nodes that blocks are dealt out to in turn: by how many a node gets, the one with the most iterations.
void BlockLengths::deal_out() {
  std::vector<Dealt> all(static_cast<std::size_t>(nodes_), {0, 0});
  Dealt each{0, 0};  // to every node
  std::size_t node = 0;
  for (std::int64_t i = 0; i < planes_; ++i) {
    for (const Run& run : in_order_) {
      const auto rounds = static_cast<double>(run.blocks / nodes_);
      each.iterations += rounds * run.iterations;
      each.blocks += rounds;
      for (std::int64_t rest = run.blocks % nodes_; rest > 0; --rest) {
        all[node].iterations += run.iterations;
        all[node].blocks += 1;
        node = node + 1 < all.size() ? node + 1 : 0;
      }
    }
  }
  for (const Dealt& rest : all) {
    const Dealt one{each.iterations + rest.iterations, each.blocks + rest.blocks};
    const auto same =
        std::find_if(dealt_.begin(), dealt_.end(), [&](const Dealt& other) { return other.blocks == one.blocks; });
    if (same == dealt_.end())
      dealt_.push_back(one);
    else
      same->iterations = std::max(same->iterations, one.iterations);
  }
}

/// Of equal length all planes' blocks in turn.
void BlockLengths::sort() {
  std::vector<Run> runs = in_order_;
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.iterations > b.iterations; });
  for (const Run& run : runs) {
    const std::int64_t blocks = run.blocks * planes_;
    if (sorted_.empty() || sorted_.back().iterations != run.iterations)
      sorted_.push_back({run.iterations, blocks});
    else
      sorted_.back().blocks += blocks;
  }
}

double BlockLengths::busiest(BlockOrder order, double iteration, double beyond) {
  if (!goes_to_first_free(order)) {
    if (dealt_.empty()) deal_out();
    double out = 0;
    for (const Dealt& one : dealt_) out = std::max(out, one.iterations * iteration + one.blocks * beyond);
    return out;
  }
  const bool sorted = order == BlockOrder::longest_first;
  if (sorted && sorted_.empty()) sort();
  Nodes free(nodes_, iteration, beyond);
  for (std::int64_t plane = 0; plane < (sorted ? 1 : planes_); ++plane) {
    for (const Run& run : sorted ? sorted_ : in_order_) free.run(run.iterations, run.blocks);
  }
  if (iteration > 0) known_.push_back({order, beyond / iteration, free.busiest() / iteration});
  return free.busiest();
}

double BlockLengths::busiest_at_least(BlockOrder order, double iteration, double beyond) const {
  double out = 0;
  for (const Known& one : known_) {
    if (one.order == order && one.ratio == beyond / iteration) out = one.iterations * iteration;
  }
  return out;
}

LaunchShape launch_shape(const PlacedDiagram& placed) {
  LaunchShape out;
  out.unequal = unequal(placed);
  out.cut = cut_chunks(placed);
  return launch_shape(placed, out);
}

LaunchShape launch_shape(const PlacedDiagram& placed, const LaunchShape& like) {
  LaunchShape out = like;
  out.packed = !placed.packed.empty();
  out.parts.clear();
  out.who = schedule(placed);
  out.alone = streamed_alone_in_any_order(placed);
  out.mean = out.who.total_iterations / std::max(out.who.total_blocks, 1.0);
  for (const PackedPart& part : placed.packed) {
    const Schedule own = schedule(part.placed);
    if (!part.blank) out.parts.push_back({own.total_blocks, own.total_iterations / std::max(own.total_blocks, 1.0)});
  }
  if (out.packed && takes_one_sequence(placed) && !permutes_axes(placed))
    out.blocks = std::make_shared<const PackedBlocks>(placed, BlockSequence(placed));
  out.edge = out.packed ? EdgeCopies{} : edge_copies(placed);
  out.edge.blocks = std::min(std::ceil(out.edge.blocks / out.who.nodes), out.who.blocks);
  out.block = mean_block(out.mean, out.cut);
  out.uncut = mean_block(out.mean, {});
  return out;
}

double meeting_of_cluster(const PlacedDiagram& placed) {
  return placed.cluster > Count(1) ? cluster_latency(*placed.machine) : 0;
}

BlockEnds block_ends(const PlacedDiagram& placed) {
  const bool persist = blocks_persist(placed);
  const double meeting = meeting_of_cluster(placed);
  return {placed.machine->constant_or("block_start", 0) + meeting,
          placed.machine->constant_or("block_handover", 0) + meeting, persist};
}

namespace {

/// What each node has run so far, and which is free first.
class FirstFree {
 public:
  explicit FirstFree(std::size_t nodes) : heap_(nodes) {
    for (std::size_t n = 0; n < nodes; ++n) heap_[n].node = n;
  }
  [[nodiscard]] std::size_t node() const { return heap_.front().node; }
  /// Gives all of them that many clocks more.
  void run_all(double clocks) {
    for (Node& node : heap_) node.until += clocks;
  }
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
    friend bool operator<(const Node& a, const Node& b) {
      return a.until != b.until ? a.until < b.until : a.node < b.node;
    }
  };
  std::vector<Node> heap_;  // the least on top
};

/// The blocks of a packed batch, each with the clocks of its rows of its sequence. Of many neighbouring planes alike
/// those at both ends are acted out, so many that each node has some blocks of them; those in the middle keep the nodes
/// as far apart as they are, and give each an even share.
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
    const std::int64_t unit = planes_in_turn();
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
            std::accumulate(busy_.begin(), busy_.end(), 0.0) / real_nodes()};
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

  /// Planes after which the order of the blocks begins anew; 0: it does not.
  [[nodiscard]] std::int64_t planes_in_turn() const {
    switch (sequence_.order()) {
      case BlockOrder::grid:
      case BlockOrder::persistent: return 1;
      case BlockOrder::longest_first: return sequence_.section();
      default: return 0;
    }
  }

  void act_out(std::int64_t first, std::int64_t last) {
    const std::int64_t rows = sequence_.rows();
    if (planes_in_turn() != 1) {
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
  std::vector<double> busy_;
  std::vector<bool> begun_;
  FirstFree free_;
};

}  // namespace

double empty_block_clocks(const PlacedDiagram& placed) {
  const Machine& machine = *placed.machine;
  return blocks_persist(placed) ? draw_clocks(placed) : machine.constant_or("block_overhead", 0);
}

LaunchClocks launch_clocks(const PlacedDiagram& placed, const EventGraph& graph, const Period& period) {
  return launch_clocks(placed, graph, period, launch_shape(placed));
}

LaunchClocks launch_clocks(const PlacedDiagram& placed, const EventGraph& graph, const Period& period,
                           const LaunchShape& shape) {
  if (shape.packed) return PackedLaunch(placed, graph, period, shape).run();
  return launch_clocks(placed, shape, block_ends(placed), clocks_of_mean(graph, period, shape), period.clocks);
}

LaunchClocks launch_clocks(const PlacedDiagram& placed, const LaunchShape& shape, const BlockEnds& ends,
                           BlockClocks block, double iteration) {
  LaunchShape own = shape;
  if (shape.unequal && !shape.lengths.known()) own.lengths = block_lengths(placed, shape);
  return launch_clocks(block_order(placed), own, ends, block, iteration);
}

LaunchClocks launch_clocks(BlockOrder order, LaunchShape& shape, const BlockEnds& block_ends, BlockClocks block,
                           double iteration) {
  const Ends ends(block_ends, block);
  const double total = std::max(shape.who.total_blocks, 1.0),
               mean_node = ends.start + total / shape.who.nodes * ends.each;
  if (!shape.unequal) {
    const double longer =
        shape.edge.blocks * shape.mean * std::max(shape.edge.clocks - iteration, 0.0);  // where their copies bind
    return {ends.alike(shape.who, shape.mean, iteration) + longer, mean_node};
  }
  const double beyond = ends.each - shape.mean * iteration;
  return {ends.start + shape.lengths.busiest(order, iteration, beyond), mean_node};
}

double launch_clocks_bound(const LaunchShape& shape, const BlockEnds& block, BlockClocks clocks, double iteration) {
  const Ends ends(block, clocks);
  if (!shape.unequal) return ends.alike(shape.who, shape.mean, iteration);
  return ends.start +
         std::max(shape.who.total_blocks / shape.who.nodes, 1.0) * ends.each;  // some node runs a block of mean length
}

double cycles_at_least(BlockOrder order, const LaunchShape& shape, const BlockEnds& block_ends, BlockClocks block,
                       const Period& period, Count blocks) {
  const Schedule& who = shape.who;
  double cycles = 0;
  if (shape.packed || order == BlockOrder::even)
    cycles = std::max(who.total_iterations / who.nodes, shape.packed ? who.longest : 0) * period.pipe.clocks;
  else if (!shape.unequal && who.iterations < who.blocks * shape.mean)
    cycles = std::max(who.total_blocks / who.nodes, 1.0) * block.next;
  else
    cycles = launch_clocks_bound(shape, block_ends, block, period.clocks);
  if (shape.unequal && !shape.packed) {
    const Ends ends(block_ends, block);
    const double beyond = ends.each - shape.mean * period.clocks;
    cycles = std::max(cycles, ends.start + shape.lengths.busiest_at_least(order, period.clocks, beyond));
  }
  const double together = std::min(real(std::max(blocks, Count(1))), std::max(who.blocks, 1.0));
  if (together <= 1) return cycles;
  return std::max(cycles / together, std::min(cycles, period.pipe.clocks * who.iterations));
}

}  // namespace napkin
