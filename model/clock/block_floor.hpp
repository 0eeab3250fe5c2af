#pragma once
// What no block of many tiles goes below, in constant time: for searches that rule tiles out by hundreds.
//
// A block of mean length lies between whole numbers of iterations and of cut ones (MeanBlock): with r the part of one
// more iteration and s that of more cut ones, block_clocks() is
//
//   (1 - r - s) fewer + r longer + s more  =  (1 - r) more + (1 - s) longer + (r + s - 1) (longer + more - fewer)
//
// of three runs. No factor of the first form is below 0 where r + s <= 1, none of the second elsewhere: so the least of
// each run over the tiles, put in for it, gives at most what any tile has.

#include <cstdint>
#include <vector>

#include "model/clock/steps.hpp"

namespace napkin {

/// At most block_clocks() of each of its states' graphs, whatever is known of these. What is found of a state
/// afterwards makes it no less true, but is taken in only by renew().
class BlockFloor {
 public:
  /// Both are referred to.
  void add(const GraphState& state) { states_.push_back(&state); }
  void add(BlockFloor& part) { parts_.push_back(&part); }
  /// For a number above 0 that grows with what is found.
  void renew(std::uint64_t found);

  [[nodiscard]] BlockClocks block(const MeanBlock& mean);
  /// Clocks of an iteration, and of its busiest pipe: of none of the states less.
  [[nodiscard]] double clocks();
  [[nodiscard]] double pipe();

 private:
  /// Runs of as many iterations with fewer and with more cut ones, of one iteration more, and the last term above.
  struct Runs {
    BlockClocks fewer, longer, more, across;
  };
  struct Found {
    std::uint64_t when = 0;  ///< renewed_ at that time; 0: never
    Runs runs = {};
  };
  struct Cut {
    CutIterations fewer, more;
    bool between;  ///< numbers of iterations, so that longer runs count
    std::vector<Found> by_iterations = {};
  };

  [[nodiscard]] Runs runs(double iterations, const MeanBlock& mean);
  [[nodiscard]] Runs least(int iterations, const MeanBlock& mean);
  [[nodiscard]] static Runs of(const GraphState& state, int iterations, const MeanBlock& mean);
  void find();

  std::vector<const GraphState*> states_;
  std::vector<BlockFloor*> parts_;
  std::vector<Cut> cuts_;
  std::uint64_t renewed_ = 1, found_ = 0;  // found_: renewed_ when these were found:
  double clocks_ = 0, pipe_ = 0;
  int settled_ = 0;  // iterations, beside the cut ones, from which on each takes its clocks
};

}  // namespace napkin
