#pragma once
// A TimelineAnswer shows when each unit and group of threads of one block works: that on an H200 the tensor unit works
// on S of one warpgroup while the other one takes exponentials. Internal to apps/.

#include <string>
#include <utility>
#include <vector>

#include "apps/library/question/question.hpp"
#include "model/clock/power/power.hpp"
#include "model/clock/run/period.hpp"
#include "model/clock/run/timeline.hpp"
#include "model/machine/vocabulary.hpp"
#include "model/mapping/tile.hpp"
#include "napkin/answers.hpp"

namespace napkin::internal {

/// A drawing of a run. Lanes are the pipes that serve one request at a time, then the threads of each agent instance.
struct TimelineAnswer {
  Head head;
  Vocabulary words;
  std::vector<std::string> agents;  ///< names, by PlacedDiagram::agents
  std::int64_t agent_threads = 0;   ///< threads of an instance of the agent with the vector work; 0: none
  EventGraph graph;
  Timeline run;        ///< the run with its spans
  int iterations = 0;  ///< iterations of the run
  Period period;
  BlockClocks block;                                          ///< clocks of a block of mean length
  BlockClocks ends;                                           ///< clocks of that block beyond its iterations at the
                                                              ///< period
  double block_iterations = 0;                                ///< iterations of the mean block
  double nodes = 1, node_iterations = 0, all_iterations = 0;  ///< nodes with work; iterations of the busiest node, and
                                                              ///< of all nodes
  GraphPrediction predicted;
  bool timed = true;  ///< true if this GPU's instructions were timed; else the graph uses the datasheet's rates
  /// Fractions by operation: the supposed excess of vector work over its count, and the further excess that costs no
  /// time.
  std::vector<std::pair<std::string, double>> overhead, budgets;
};

/// Runs the first iterations of a block, at most as many as the longest block has. `overhead` is the excess of vector
/// work over its counts that the user supposes.
[[nodiscard]] TimelineAnswer timeline_answer(const Question& question, const Setup& setup, const Tile& tile,
                                             int iterations, std::vector<std::pair<std::string, double>> overhead = {});

}  // namespace napkin::internal
