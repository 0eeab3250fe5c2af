// Blocks of unequal length: how many chunks a mask leaves each, and which node is busiest with them.

#include <algorithm>
#include <cmath>
#include <functional>

#include "model/clock/launch/ends.hpp"
#include "model/diagram/visits.hpp"

namespace napkin {
namespace {

/// Blocks that go to the first node that is free.
class Nodes {
 public:
  Nodes(int nodes, double iteration, double block) : iteration_(iteration), block_(block), free_(1, {0, nodes}) {}

  /// Nodes that are free at the same clock take blocks of one length together: they are free again at the same clock.
  void run(double length, int blocks) {
    const double clocks = length * iteration_ + block_;
    while (blocks > 0) {
      Free& first = free_[head_];
      const int taken = clocks > 0 ? std::min(blocks, first.nodes) : 1;  // else the same node is the first free again
      const Free later{first.at + clocks, taken};
      blocks -= taken;
      first.nodes -= taken;
      if (first.nodes == 0) ++head_;
      const auto frees_later = [](double at, const Free& other) { return at < other.at; };
      free_.insert(
          std::upper_bound(free_.begin() + static_cast<std::ptrdiff_t>(head_), free_.end(), later.at, frees_later),
          later);
    }
  }
  [[nodiscard]] double busiest() const { return free_.back().at; }

 private:
  /// Nodes that are free from the same clock on.
  struct Free {
    double at;
    int nodes;
  };

  double iteration_, block_;
  std::vector<Free> free_;  // the first at head_, sorted
  std::size_t head_ = 0;
};

}  // namespace

bool has_unequal_blocks(const PlacedDiagram& placed) {
  const Streamed& streamed = *placed.streamed;
  if (!placed.across || !streamed.skips || !streamed.stream || placed.problem->mask.kind == Mask::Kind::none)
    return false;
  return !(placed.block().groups_of[static_cast<std::size_t>(*streamed.stream)] > Count(1));
}

std::vector<double> block_lengths(const PlacedDiagram& placed) {
  if (!has_unequal_blocks(placed)) return {};
  const Streamed& streamed = *placed.streamed;
  const auto size = [&](AxisId axis) { return placed.problem->sizes[static_cast<std::size_t>(axis)].get(); };
  const auto [row_axis, column_axis] = *streamed.skips;
  const std::int64_t members = size(*placed.across), group = placed.walk.across.get(),
                     chunk = placed.block().chunk.get();
  const VisibleSpans spans(placed.problem->mask, size(row_axis), size(column_axis), *placed.across != row_axis);
  std::vector<double> out;
  for (std::int64_t first = 0; first < members; first += group) {
    const std::int64_t last = std::min(first + group, members);
    const Span seen = spans(first, last);
    out.push_back(seen.size() > 0 ? static_cast<double>((seen.last + chunk - 1) / chunk - seen.first / chunk) : 0.0);
  }
  return out;
}

BlockLengths block_lengths(const PlacedDiagram& placed, const LaunchShape& shape) {
  std::vector<double> in_order = block_lengths(placed);
  const double planes = std::floor(std::max(shape.who.total_blocks, 1.0) / static_cast<double>(in_order.size()));
  return {std::move(in_order), planes, shape.who.nodes};
}

BlockLengths::BlockLengths(std::vector<double> in_order, double planes, double nodes)
    : in_order_(std::move(in_order)), planes_(static_cast<int>(planes)), nodes_(static_cast<int>(nodes)) {}

/// Deals blocks out round robin. Of nodes with equally many blocks the one with the most iterations is kept.
void BlockLengths::deal_out() {
  std::vector<Dealt> all(static_cast<std::size_t>(nodes_), {0, 0});
  std::size_t node = 0;
  for (int i = 0; i < planes_; ++i) {
    for (std::size_t first = 0; first < in_order_.size();) {
      const std::size_t taken = std::min(in_order_.size() - first, all.size() - node);
      for (std::size_t n = 0; n < taken; ++n) {
        all[node + n].iterations += in_order_[first + n];
        all[node + n].blocks += 1;
      }
      first += taken;
      node = (node + taken) % all.size();
    }
  }
  for (const Dealt& one : all) {
    const auto same =
        std::find_if(dealt_.begin(), dealt_.end(), [&](const Dealt& other) { return other.blocks == one.blocks; });
    if (same == dealt_.end())
      dealt_.push_back(one);
    else
      same->iterations = std::max(same->iterations, one.iterations);
  }
}

double BlockLengths::busiest(BlockOrder order, double iteration, double beyond) {
  if (!goes_to_first_free(order)) {
    if (dealt_.empty()) deal_out();
    double out = 0;
    for (const Dealt& one : dealt_) out = std::max(out, one.iterations * iteration + one.blocks * beyond);
    return out;
  }
  const bool sorted =
      order == BlockOrder::longest_first;  // blocks of one length: those of all planes, plane after plane
  std::vector<double> lengths = in_order_;
  if (sorted) std::sort(lengths.begin(), lengths.end(), std::greater<>());
  Nodes free(nodes_, iteration, beyond);
  for (int plane = 0; plane < (sorted ? 1 : planes_); ++plane) {
    for (std::size_t first = 0; first < lengths.size();) {
      std::size_t next = first + 1;
      while (next < lengths.size() && lengths[next] == lengths[first]) ++next;
      free.run(lengths[first], static_cast<int>(next - first) * (sorted ? planes_ : 1));
      first = next;
    }
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

}  // namespace napkin
