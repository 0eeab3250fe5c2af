// Blocks of unequal length: which node is busiest with them.

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/clock/launch/ends.hpp"

namespace napkin::internal {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double most_rounds = 32;  // of blocks on all nodes, which are put onto nodes one by one

using Dealt = BlockLengths::Dealt;
using Outcome = BlockLengths::Outcome;

/// An assignment of blocks to the first free node at one e / c, and the range of e / c over which it stays: for any two
/// ends that were compared, the earlier one stays no later.
class Nodes {
 public:
  Nodes(int nodes, double iteration, double beyond)
      : nodes_(nodes), iteration_(iteration), beyond_(beyond), free_(1, {0, {}, nodes}) {}

  /// Runs `blocks` blocks of that length. Nodes that are free at the same clock take theirs together, and are free
  /// again at the same clock.
  void run(double length, std::int64_t blocks) {
    const bool takes_time = clocks_of({length, 1}) > 0;
    if (takes_time)
      stays_negative({-length, -1});
    else
      stays_negative({length, 1});
    if (takes_time && blocks > nodes_) blocks = run_many({length, 1}, blocks);
    while (blocks > 0) {
      Free& first = free_[head_];
      const auto most = static_cast<int>(std::min<std::int64_t>(blocks, first.nodes));
      const int taken = takes_time ? most : 1;  // else the same node is the first free again
      const Free later = free_behind(first, {length, 1}, taken);
      blocks -= taken;
      first.nodes -= taken;
      if (first.nodes == 0) ++head_;
      insert(later);
      if (head_ >= most_ended) forget_ended();
    }
  }
  [[nodiscard]] Outcome outcome(BlockOrder order) const {
    Outcome out{order, least_, most_};
    for (auto one = free_.begin() + static_cast<std::ptrdiff_t>(head_); one != free_.end(); ++one) out.add(one->run);
    return out;
  }

 private:
  /// The nodes that are free from the same clock on, since they have run the same.
  struct Free {
    double at = 0;
    Dealt run;
    int nodes = 0;
  };
  static constexpr std::size_t most_ended = 4096;

  static bool frees_sooner(const Free& a, const Free& b) { return a.at < b.at; }
  static Dealt difference(const Dealt& a, const Dealt& b) { return {a.iterations - b.iterations, a.blocks - b.blocks}; }
  [[nodiscard]] double clocks_of(const Dealt& run) const { return run.iterations * iteration_ + run.blocks * beyond_; }
  [[nodiscard]] Free free_behind(const Free& one, const Dealt& more, int nodes) const {
    const Dealt run{one.run.iterations + more.iterations, one.run.blocks + more.blocks};
    return {clocks_of(run), run, nodes};
  }
  /// Narrows [least_, most_] to the values of e / c for which those clocks stay at or below 0.
  void stays_negative(const Dealt& clocks) {
    if (clocks.blocks > 0) most_ = std::min(most_, -clocks.iterations / clocks.blocks);
    if (clocks.blocks < 0) least_ = std::max(least_, -clocks.iterations / clocks.blocks);
  }
  void insert(const Free& one) {
    const auto first = free_.begin() + static_cast<std::ptrdiff_t>(head_);
    const auto behind = std::upper_bound(first, free_.end(), one, frees_sooner);
    if (behind != free_.end()) stays_negative(difference(one.run, behind->run));
    if (behind != first) {
      Free& before = *std::prev(behind);
      if (before.run.iterations == one.run.iterations && before.run.blocks == one.run.blocks) {
        before.nodes += one.nodes;
        return;
      }
      stays_negative(difference(before.run, one.run));
    }
    free_.insert(behind, one);
  }
  void forget_ended() {
    free_.erase(free_.begin(), free_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }

  /// Runs more blocks than nodes: first those that begin before the last node is free, then whole rounds of a block for
  /// each node. Returns the number of blocks left.
  std::int64_t run_many(const Dealt& block, std::int64_t blocks) {
    forget_ended();
    const Free last = free_.back();
    const auto before = [&](const Free& one) { return std::ceil((last.at - one.at) / clocks_of(block)); };
    double needed = 0;
    for (const Free& one : free_) needed += before(one) * one.nodes;
    if (needed > static_cast<double>(blocks)) return blocks;
    blocks -= static_cast<std::int64_t>(needed);
    const auto rounds = static_cast<double>(blocks / nodes_);
    for (Free& one : free_) {
      const double own = before(one);
      const Dealt to_last = difference(last.run, one.run);
      stays_negative({to_last.iterations - own * block.iterations, to_last.blocks - own});
      if (own > 0) stays_negative({(own - 1) * block.iterations - to_last.iterations, own - 1 - to_last.blocks});
      one = free_behind(one, {(own + rounds) * block.iterations, own + rounds}, one.nodes);
    }
    std::sort(free_.begin(), free_.end(), frees_sooner);
    for (std::size_t i = 1; i < free_.size(); ++i) stays_negative(difference(free_[i - 1].run, free_[i].run));
    return blocks % nodes_;
  }

  int nodes_;
  double iteration_, beyond_;
  double least_ = -infinity, most_ = infinity;  // of e / c
  std::vector<Free> free_;                      // the first at head_, sorted
  std::size_t head_ = 0;
};

/// The work that nodes get from a number of planes dealt in turn, from the first node on, and the node that the next
/// block goes to.
struct InTurn {
  std::vector<Dealt> nodes;
  std::size_t next = 0;

  /// Returns the work of these planes followed by those of `other`.
  [[nodiscard]] InTurn and_then(const InTurn& other) const {
    InTurn out = *this;
    std::size_t node = next;
    for (const Dealt& more : other.nodes) {
      out.nodes[node].iterations += more.iterations;
      out.nodes[node].blocks += more.blocks;
      node = node + 1 < nodes.size() ? node + 1 : 0;
    }
    out.next = (next + other.next) % nodes.size();
    return out;
  }
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

void BlockLengths::Outcome::add(const Dealt& node) {
  const auto same = std::find_if(nodes.begin(), nodes.end(), [&](const Dealt& o) { return o.blocks == node.blocks; });
  if (same == nodes.end())
    nodes.push_back(node);
  else
    same->iterations = std::max(same->iterations, node.iterations);
}

double BlockLengths::Outcome::busiest(double iteration, double beyond) const {
  double out = 0;
  for (const Dealt& node : nodes) out = std::max(out, node.iterations * iteration + node.blocks * beyond);
  return out;
}

/// Deals blocks out round robin, whatever their lengths, by doubling the number of planes.
Outcome BlockLengths::dealt_out(BlockOrder order) const {
  InTurn planes{std::vector<Dealt>(static_cast<std::size_t>(nodes_)), 0}, all = planes;
  Dealt each;  // to every node
  for (const EqualBlocks& run : in_order_) {
    const auto rounds = static_cast<double>(run.blocks / nodes_);
    each = {each.iterations + rounds * run.iterations, each.blocks + rounds};
    for (std::int64_t rest = run.blocks % nodes_; rest > 0; --rest) {
      Dealt& node = planes.nodes[planes.next];
      node = {node.iterations + run.iterations, node.blocks + 1};
      planes.next = planes.next + 1 < planes.nodes.size() ? planes.next + 1 : 0;
    }
  }
  for (std::int64_t left = planes_; left > 0; left /= 2) {
    if (left % 2 != 0) all = all.and_then(planes);
    if (left > 1) planes = planes.and_then(planes);
  }
  Outcome out{order, -infinity, infinity};
  const auto times = static_cast<double>(planes_);
  for (const Dealt& one : all.nodes)
    out.add({one.iterations + times * each.iterations, one.blocks + times * each.blocks});
  return out;
}

/// Returns the blocks of all planes by length, longest first.
std::vector<EqualBlocks> BlockLengths::longest_first() const {
  std::vector<EqualBlocks> runs(in_order_.rbegin(), in_order_.rend()), out;  // a causal plane's are sorted
  const auto longer = [](const EqualBlocks& a, const EqualBlocks& b) { return a.iterations > b.iterations; };
  if (!std::is_sorted(runs.begin(), runs.end(), longer)) std::sort(runs.begin(), runs.end(), longer);
  for (const EqualBlocks& run : runs) {
    const std::int64_t blocks = run.blocks * planes_;
    if (out.empty() || out.back().iterations != run.iterations)
      out.push_back({run.iterations, blocks});
    else
      out.back().blocks += blocks;
  }
  return out;
}

/// Assigns blocks to the first free node. As many planes as nodes give each node the work of one plane: beyond
/// `most_rounds` rounds planes are added that way, and only the rest is assigned block by block.
Outcome BlockLengths::to_first_free(BlockOrder order, double iteration, double beyond) const {
  const bool sorted = order == BlockOrder::longest_first;
  const std::vector<EqualBlocks> runs = sorted ? longest_first() : in_order_;
  Dealt plane;
  for (const EqualBlocks& run : in_order_) {
    const auto blocks = static_cast<double>(run.blocks);
    plane = {plane.iterations + blocks * run.iterations, plane.blocks + blocks};
  }
  const auto least = static_cast<std::int64_t>(std::ceil(most_rounds * nodes_ / std::max(plane.blocks, 1.0)));
  const std::int64_t even = sorted ? 0 : std::max(planes_ - least, std::int64_t{0}) / nodes_;
  Nodes free(nodes_, iteration, beyond);
  for (std::int64_t left = sorted ? 1 : planes_ - even * nodes_; left > 0; --left) {
    for (const EqualBlocks& run : runs) free.run(run.iterations, run.blocks);
  }
  Outcome out = free.outcome(order);
  for (Dealt& node : out.nodes) {
    node.iterations += static_cast<double>(even) * plane.iterations;
    node.blocks += static_cast<double>(even) * plane.blocks;
  }
  return out;
}

const Outcome* BlockLengths::find(BlockOrder order, double iteration, double beyond) const {
  const double ratio = beyond / iteration;
  const auto found = std::find_if(outcomes_.begin(), outcomes_.end(), [&](const Outcome& one) {
    return one.order == order && one.least <= ratio && ratio <= one.most;
  });
  return found == outcomes_.end() ? nullptr : &*found;
}

double BlockLengths::busiest(BlockOrder order, double iteration, double beyond) {
  if (const Outcome* known = find(order, iteration, beyond)) return known->busiest(iteration, beyond);
  Outcome outcome = goes_to_first_free(order) ? to_first_free(order, iteration, beyond) : dealt_out(order);
  const double out = outcome.busiest(iteration, beyond);
  if (iteration > 0) outcomes_.push_back(std::move(outcome));
  return out;
}

double BlockLengths::busiest_at_least(BlockOrder order, double iteration, double beyond) const {
  const Outcome* known = find(order, iteration, beyond);
  return known != nullptr ? known->busiest(iteration, beyond) : 0;
}

}  // namespace napkin::internal
