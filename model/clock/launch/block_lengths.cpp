// Blocks of unequal length: which node is busiest with them.

#include <algorithm>
#include <cmath>

#include "model/clock/launch/ends.hpp"

namespace napkin {
namespace {

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

  /// Runs more blocks than there are nodes: first the blocks that begin before the last node is free, then whole
  /// rounds, in which each node takes one block in turn. Returns how many blocks are left.
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

}  // namespace

std::vector<double> block_lengths(const PlacedDiagram& placed) {
  std::vector<double> out;
  for (const EqualBlocks& run : block_runs(placed))
    out.insert(out.end(), static_cast<std::size_t>(run.blocks), run.iterations);
  return out;
}

BlockLengths block_lengths(const PlacedDiagram& placed, const LaunchShape& shape) {
  std::vector<EqualBlocks> in_order = block_runs(placed);
  double blocks = 0;
  for (const EqualBlocks& run : in_order) blocks += static_cast<double>(run.blocks);
  return {std::move(in_order), std::floor(std::max(shape.who.total_blocks, 1.0) / blocks), shape.who.nodes};
}

BlockLengths::BlockLengths(std::vector<EqualBlocks> in_order, double planes, double nodes)
    : in_order_(std::move(in_order)), planes_(static_cast<std::int64_t>(planes)), nodes_(static_cast<int>(nodes)) {}

/// Deals blocks out round robin. Of nodes with equally many blocks the one with the most iterations is kept.
void BlockLengths::deal_out() {
  std::vector<Dealt> all(static_cast<std::size_t>(nodes_), {0, 0});
  Dealt each{0, 0};  // to every node
  std::size_t node = 0;
  for (std::int64_t i = 0; i < planes_; ++i) {
    for (const EqualBlocks& run : in_order_) {
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
  std::vector<EqualBlocks> runs = in_order_;
  std::sort(runs.begin(), runs.end(),
            [](const EqualBlocks& a, const EqualBlocks& b) { return a.iterations > b.iterations; });
  for (const EqualBlocks& run : runs) {
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
  for (const Known& one : known_) {
    if (one.order == order && one.iteration == iteration && one.beyond == beyond) return one.clocks;
  }
  const bool sorted = order == BlockOrder::longest_first;
  if (sorted && sorted_.empty()) sort();
  Nodes free(nodes_, iteration, beyond);
  for (std::int64_t plane = 0; plane < (sorted ? 1 : planes_); ++plane) {
    for (const EqualBlocks& run : sorted ? sorted_ : in_order_) free.run(run.iterations, run.blocks);
  }
  if (iteration > 0) known_.push_back({order, iteration, beyond, free.busiest()});
  return free.busiest();
}

double BlockLengths::busiest_at_least(BlockOrder order, double iteration, double beyond) const {
  double out = 0;
  for (const Known& one : known_) {
    if (one.order == order && one.ratio() == beyond / iteration) out = one.clocks / one.iteration * iteration;
  }
  return out;
}

}  // namespace napkin
