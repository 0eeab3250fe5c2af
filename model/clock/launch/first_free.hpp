#pragma once
// FirstFree gives the blocks of a launch, one after another, to the node that is free first: of a packed batch on 132
// nodes those with rows, which take what they take, and those beyond their sequences, which all take the same. Internal
// to launch/.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

namespace napkin::internal {

/// The nodes by the clocks that they have run; of several that are free at once the one of the least number is first.
/// Idle blocks, of equal clocks, end in the order in which they begin, so that the nodes that ran one last wait in a
/// queue of their own, and an idle block costs no search.
class FirstFree {
 public:
  FirstFree(std::size_t nodes, double idle_clocks) : idle_clocks_(idle_clocks), idle_(std::bit_ceil(nodes)) {
    for (std::size_t n = 0; n < nodes; ++n) heap_.push_back({0, n});
  }
  /// Returns the node that the next block goes to.
  [[nodiscard]] std::size_t node() const { return (idle_is_first() ? idle_at(first_) : heap_.front()).number; }
  /// Runs a block of that many clocks on node().
  void run(double clocks) {
    Node moved = take_first();
    moved.until += clocks;
    heap_.push_back(moved);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  /// Runs so many idle blocks.
  void run_idle(std::int64_t blocks) {
    for (; blocks > 0; --blocks) {
      Node moved = take_first();
      moved.until += idle_clocks_;
      std::size_t at = end_++;
      for (; at != first_ && moved < idle_at(at - 1); --at) idle_at(at) = idle_at(at - 1);  // equal by rounding
      idle_at(at) = moved;
    }
  }
  /// Adds that many clocks to every node.
  void run_all(double clocks) {
    while (first_ != end_) heap_.push_back(idle_at(first_++));
    for (Node& node : heap_) node.until += clocks;
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  /// Returns the clocks that each node has run, by its number.
  [[nodiscard]] std::vector<double> clocks() const {
    std::vector<double> out(heap_.size() + (end_ - first_));
    for (const Node& node : heap_) out[node.number] = node.until;
    for (std::size_t i = first_; i != end_; ++i) out[idle_at(i).number] = idle_at(i).until;
    return out;
  }

 private:
  struct Node {
    double until = 0;
    std::size_t number = 0;
    friend bool operator<(const Node& a, const Node& b) {
      return a.until != b.until ? a.until < b.until : a.number < b.number;
    }
    friend bool operator>(const Node& a, const Node& b) { return b < a; }
  };
  [[nodiscard]] Node& idle_at(std::size_t i) { return idle_[i & (idle_.size() - 1)]; }
  [[nodiscard]] const Node& idle_at(std::size_t i) const { return idle_[i & (idle_.size() - 1)]; }
  [[nodiscard]] bool idle_is_first() const {
    return first_ != end_ && (heap_.empty() || idle_at(first_) < heap_.front());
  }
  Node take_first() {
    if (idle_is_first()) return idle_at(first_++);
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const Node out = heap_.back();
    heap_.pop_back();
    return out;
  }

  double idle_clocks_;
  std::vector<Node> heap_;           // nodes whose last block was no idle one, the first on top
  std::vector<Node> idle_;           // the others in a ring, ascending
  std::size_t first_ = 0, end_ = 0;  // range of the ring, modulo its size
};

}  // namespace napkin::internal
