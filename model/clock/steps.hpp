#pragma once
// The event graph's time in steps, for searches: each is a bound from below that the next one raises and that costs more
// to find, and the last is the time. (model/README.md section 12)
//
//   pipe       the busiest pipe's work for all that the busiest node runs                        1 us
//   cycle      the longest cycle of waits, where that is more                                    5 us
//   iteration  the steady iteration of a run; a block's first ones at the bound before          20 us
//   block      whole blocks and their ends, all of mean length                                  60 us
//   time       blocks of unequal length onto nodes: timers()
//
// That a run of a block takes at least its bound for every iteration is what these rest on; tests/law/test_select_twin.cpp
// holds them to it.

#include <memory>

#include "model/clock/period.hpp"
#include "model/clock/prediction.hpp"

namespace napkin {

class WorkBound;

/// Of the tiles of one variant and problem, which have an event graph (has_event_graph). `graph` is the tile's;
/// `blocks`: how many of its blocks, or more, a node holds at a time.
class GraphSteps {
 public:
  GraphSteps(const PlacedDiagram& like, std::shared_ptr<Periods> periods);
  /// bound_timer(): reads the work alone, and more of it never makes it less.
  [[nodiscard]] Seconds by_pipe(const PlacedDiagram& placed) const;
  /// More tokens never make it more.
  [[nodiscard]] Seconds by_cycle(const PlacedDiagram& placed, const EventGraph& graph, Count blocks) const;
  [[nodiscard]] Seconds by_iteration(const PlacedDiagram& placed, const EventGraph& graph, Count blocks) const;
  /// No bound: what it takes if every iteration of every block goes like the steady one of the first. That is what nearly
  /// all do; some settle faster behind another block.
  [[nodiscard]] Seconds expected(const PlacedDiagram& placed, const EventGraph& graph, Count blocks) const;
  [[nodiscard]] Seconds by_block(const PlacedDiagram& placed, const EventGraph& graph, Count blocks) const;

 private:
  std::shared_ptr<const WorkBound> work_;
  std::shared_ptr<Periods> periods_;
  Seconds launch_;
};

}  // namespace napkin
