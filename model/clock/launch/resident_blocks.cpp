#include "model/clock/launch/resident_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>

namespace napkin::internal {
namespace {

constexpr double rounds = 8;  // rounds of blocks on all nodes that are put onto nodes one by one
constexpr int draws = 4;      // draws of the blocks' durations, if these have a spread

/// Returns a block's duration over the mean one in a draw: evenly spread, in another order in each draw.
double factor_of(double spread, std::int64_t block, int draw) {
  constexpr double golden = 0.6180339887498949;
  const double place = static_cast<double>(block) * golden + static_cast<double>(draw) / draws;
  return 1 + spread * (place - std::floor(place) - 0.5);
}

/// The blocks that a node holds, by the work that each has left.
struct Node {
  std::vector<double> left;
  double at = 0;
};

/// A run of blocks on nodes, from one block's end to the next.
class Run {
 public:
  explicit Run(const ResidentLaunch& launch) : launch_(launch), nodes_(launch.nodes), most_(launch.shares.size()) {}

  /// Puts a block onto the first node that has room; while nodes are empty or partly filled each gets one in turn.
  void add(double work) {
    if (filled_ < nodes_.size() * most_) {
      nodes_[filled_++ % nodes_.size()].left.push_back(work);
      if (filled_ == nodes_.size() * most_) begin();
      return;
    }
    const std::size_t n = end_of_one();
    nodes_[n].left.push_back(work);
    expect(n);
  }
  [[nodiscard]] double end() {
    if (filled_ < nodes_.size() * most_) begin();
    double last = 0;
    while (!ends_.empty()) {
      const std::size_t n = end_of_one();
      last = std::max(last, nodes_[n].at);
      expect(n);
    }
    return last;
  }

 private:
  struct End {
    double at;
    std::size_t node;
    bool operator>(const End& other) const { return at != other.at ? at > other.at : node > other.node; }
  };

  /// Returns the clocks in which each of a node's blocks advances by one.
  [[nodiscard]] double pace(const Node& node) const {
    return static_cast<double>(node.left.size()) * launch_.shares[node.left.size() - 1];
  }
  void begin() {
    for (std::size_t n = 0; n < nodes_.size(); ++n) expect(n);
  }
  void expect(std::size_t n) {
    const Node& node = nodes_[n];
    if (node.left.empty()) return;
    ends_.push({node.at + *std::min_element(node.left.begin(), node.left.end()) * pace(node), n});
  }
  /// Advances the node whose block ends first to that end, and returns it.
  std::size_t end_of_one() {
    const End end = ends_.top();
    ends_.pop();
    Node& node = nodes_[end.node];
    const auto least = std::min_element(node.left.begin(), node.left.end());
    const double done = *least;
    node.left.erase(least);
    for (double& work : node.left) work -= done;
    node.at = end.at;
    return end.node;
  }

  const ResidentLaunch& launch_;
  std::vector<Node> nodes_;
  std::size_t most_, filled_ = 0;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

/// Returns the clocks of a block of a run.
double clocks_of(const ResidentLaunch& launch, const EqualBlocks& run) {
  return run.iterations * launch.iteration + launch.beyond;
}

/// The blocks of a plane, and their clocks together.
struct PlaneWork {
  double blocks = 0, clocks = 0;
};
std::vector<PlaneWork> work_of_planes(const ResidentLaunch& launch) {
  std::vector<PlaneWork> out;
  for (const std::vector<EqualBlocks>& plane : launch.blocks.kinds) {
    PlaneWork& own = out.emplace_back();
    for (const EqualBlocks& run : plane) {
      const auto count = static_cast<double>(run.blocks);
      own.blocks += count, own.clocks += count * clocks_of(launch, run);
    }
  }
  return out;
}

/// Returns the clocks until the last of those planes has ended.
double end_of_last(const ResidentLaunch& launch, const std::vector<BlockPlanes::Run>& planes, int draw) {
  Run run(launch);
  std::int64_t block = 0;
  for (const BlockPlanes::Run& each : planes) {
    for (std::int64_t plane = 0; plane < each.planes; ++plane) {
      for (const EqualBlocks& equal : launch.blocks.kinds[each.kind]) {
        const double work = clocks_of(launch, equal);
        for (std::int64_t i = 0; i < equal.blocks; ++i) run.add(work * factor_of(launch.spread, block++, draw));
      }
    }
  }
  return run.end();
}

}  // namespace

double resident_clocks(const ResidentLaunch& launch) {
  const std::vector<PlaneWork> work = work_of_planes(launch);
  const auto nodes = static_cast<double>(launch.nodes);
  double wanted = rounds * nodes * static_cast<double>(launch.shares.size()), even = 0;
  std::vector<BlockPlanes::Run> last;
  for (auto run = launch.blocks.runs.rbegin(); run != launch.blocks.runs.rend(); ++run) {
    const PlaneWork& plane = work[run->kind];
    if (plane.blocks <= 0) continue;
    const std::int64_t acted =
        std::min(run->planes, static_cast<std::int64_t>(std::ceil(std::max(wanted, 0.0) / plane.blocks)));
    wanted -= static_cast<double>(acted) * plane.blocks;
    even += static_cast<double>(run->planes - acted) * plane.clocks / nodes;
    if (acted > 0) last.push_back({run->kind, acted});
  }
  std::reverse(last.begin(), last.end());
  const int runs = launch.spread > 0 ? draws : 1;
  double ends = 0;
  for (int draw = 0; draw < runs; ++draw) ends += end_of_last(launch, last, draw);
  return even * launch.shares.back() + ends / runs;
}

}  // namespace napkin::internal
