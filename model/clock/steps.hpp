#pragma once
// The event graph's time in steps, for searches: each is a bound from below that the next one raises and that costs
// more to find, and the last is the time. (model/README.md section 12)
//
//   work       the busiest pipe's work for all cells of the question, without placing a tile       0.3 us
//   pipe       the same for all that the busiest node runs                                         1 us
//   cycle      the longest cycle of waits, where that is more                                      5 us
//   iteration  the steady iteration of a run; a block's first ones at the bound before           100 us
//   block      whole blocks and their ends, all of mean length                                   300 us
//   time       blocks of unequal length onto nodes: timers()
//
// That a run of a block takes at least its bound for every iteration is what these rest on;
// tests/law/test_select_twin.cpp holds them to it. What is found of a graph holds for every question of its kind,
// whatever the lengths of the axes that blocks and chunks divide: GraphState keeps it.

#include <memory>
#include <optional>

#include "model/clock/power.hpp"
#include "model/clock/prediction.hpp"

namespace napkin {

class BlockFloor;
class WorkBound;

/// One block's one iteration, from its work alone.
struct IterationWork {
  double clocks = 0;  ///< of the busiest pipe
  double energy = 0;  ///< joules at f0
};

/// What is known of a tile's event graph.
struct GraphState {
  double pipe = 0;              ///< clocks of an iteration: the busiest pipe's
  double least = 0;             ///< that no run of a block goes below in the mean
  double clocks = 0, ends = 0;  ///< a block of `from` iterations or more takes at least ends + iterations x clocks
  int from = 0;
  const SteadyIteration* steady = nullptr;
  const Period* period = nullptr;
  std::optional<SettledEnds> settled = {};  ///< latest

  /// Clocks of a block of so many iterations, so many of them cut, at least: behind cut ones it settles as much later.
  [[nodiscard]] double block(double iterations, int cut) const {
    return iterations < from + cut ? iterations * least : ends + cut * (least - clocks) + iterations * clocks;
  }
  /// The same of the first on a node, and of one behind it; with the cut iterations that runs of the period have.
  [[nodiscard]] BlockClocks blocks(double iterations, const MeanBlock& block);
};

/// Of an iteration, as the steady one of a block alone lets expect; the state must have it.
[[nodiscard]] double expected_clocks(const GraphState& state);

/// Of the tiles of one variant and problem, which have an event graph (has_event_graph). `graph` is the tile's;
/// `blocks`: how many of its blocks, or more, a node holds at a time.
class GraphSteps {
 public:
  GraphSteps(const PlacedDiagram& like, std::shared_ptr<Periods> periods);

  /// Reads extents, operands and instructions alone: no lengths.
  [[nodiscard]] IterationWork work(const PlacedDiagram& placed) const;
  /// So many iterations in all, of which the busiest node runs so many; device_bytes() of the question.
  [[nodiscard]] Seconds by_work(const IterationWork& work, double total, double busiest, double device_bytes) const;
  /// bound_timer(): more work never makes it less.
  [[nodiscard]] Seconds by_pipe(const PlacedDiagram& placed) const;

  /// Cycles of a launch of that shape, at least, by the most that is known: bound() for many tiles of one shape.
  /// `ends`: block_ends(); `cuts`: EventGraph::has_cut_work().
  [[nodiscard]] static double cycles(const LaunchShape& shape, const BlockEnds& ends, bool cuts, GraphState& state,
                                     Count blocks);
  /// Of tiles of one shape: none goes below. They hold so many blocks, or fewer; 0 where there is no such bound.
  [[nodiscard]] static double cycles(const LaunchShape& shape, const BlockEnds& ends, bool cuts, BlockFloor& floor,
                                     Count blocks);
  /// Of a node that holds so many blocks at a time and would take those cycles for them one after the other.
  [[nodiscard]] static double together(const LaunchShape& shape, double cycles, const GraphState& state, Count blocks);
  /// With the bounds of an iteration. More tokens never make these more.
  [[nodiscard]] static GraphState state_of(const EventGraph& graph);
  /// Finds the steady iteration, then the period.
  void raise(const EventGraph& graph, GraphState& state) const;
  /// So many cycles of the launch, at the clock that the card would hold; joules at f0, device_bytes() of the question.
  [[nodiscard]] Seconds by_cycles(double cycles, double energy, double device_bytes) const;
  /// Whether by_cycles() may say at most that time, in a part of its cost. With more cycles or energy never sooner.
  [[nodiscard]] bool may_end_within(double cycles, double energy, double device_bytes, Seconds time) const;
  /// Whatever the lengths.
  [[nodiscard]] BlockEnergy energy(const PlacedDiagram& placed, const EventGraph& graph) const;
  /// By the most that is known: cycle, iteration, block.
  [[nodiscard]] Seconds bound(const PlacedDiagram& placed, const EventGraph& graph, const GraphState& state,
                              Count blocks) const;
  /// No bound: what it takes if every iteration of every block goes like the steady one of the first. That is what
  /// nearly all do; some settle faster behind another block. The state must have the steady iteration.
  [[nodiscard]] Seconds expected(const PlacedDiagram& placed, const EventGraph& graph, const GraphState& state,
                                 Count blocks) const;

 private:
  std::shared_ptr<const WorkBound> work_;
  std::shared_ptr<Periods> periods_;
  Seconds launch_;
};

/// Cells of the axes that blocks and chunks divide: of a question, those that its mask leaves; of one block's one
/// iteration. The question's over the tile's are at most its iterations.
[[nodiscard]] double cells_of_question(const PlacedDiagram& placed);
[[nodiscard]] double cells_of_iteration(const PlacedDiagram& placed);

}  // namespace napkin
