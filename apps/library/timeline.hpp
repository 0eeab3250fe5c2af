#pragma once
// A TimelineAnswer shows who runs when in one block: that on an H200 the tensor unit works on S of one warpgroup while
// the other one takes exponentials. Internal to apps/.

#include <string>
#include <utility>
#include <vector>

#include "apps/library/answer.hpp"
#include "apps/library/request.hpp"
#include "model/clock/launch/power.hpp"
#include "model/clock/run/period.hpp"
#include "model/clock/run/timeline.hpp"
#include "model/machine/vocabulary.hpp"
#include "model/mapping/tile.hpp"

namespace napkin {

/// What is drawn. Lanes are the pipes that serve one request at a time, then one for each agent instance's threads.
struct TimelineAnswer {
  Head head;
  Vocabulary words;
  std::vector<std::string> agents;  ///< names, by PlacedDiagram::agents
  EventGraph graph;
  Timeline run;        ///< with spans
  int iterations = 0;  ///< of the run
  Period period;
  BlockClocks block;                                          ///< of mean length
  BlockClocks ends;                                           ///< of it, beyond its iterations at the period
  double block_iterations = 0;                                ///< of the mean block
  double nodes = 1, node_iterations = 0, all_iterations = 0;  ///< of the launch: of the busiest node, of all
  GraphPrediction predicted;
  bool timed = true;  ///< somebody has timed this GPU's instructions; else the graph has the datasheet's rates
  /// By operation, as fractions: vector work taken longer than counted, and how much longer it may take beside that.
  std::vector<std::pair<std::string, double>> overhead, budgets;
};

/// The first iterations of a block of that tile, as many as its longest block has. `overhead`: what a user supposes
/// that vector work takes beyond its counts.
[[nodiscard]] TimelineAnswer timeline_answer(const Request& request, const Layout& layout, const Tile& tile,
                                             int iterations, std::vector<std::pair<std::string, double>> overhead = {});

}  // namespace napkin
