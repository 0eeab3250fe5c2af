#pragma once
// predict() returns the predicted time of a placed diagram: how long a call takes, at which clock, what limits it, and
// whether that is a bound ("at least").

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/mapping/placed.hpp"
#include "model/resource/resources.hpp"

namespace napkin::internal {

class KnownRereads;
class Periods;
struct EventGraph;

struct PipeUse {
  std::string name;  ///< "tensor", "special", "fp32", "alu", "conversion", "issue", "shared_port", "l2", "device"
  double busy = 0;   ///< fraction of the predicted time
};

/// An iteration of a block in the steady state: it takes 2048 clocks, the tensor cores work for all 2048, and the
/// longest chain of waits takes 1413.
struct Iteration {
  double clocks = 0;
  std::string pipe;            ///< busiest pipe
  bool beside_tensor = false;  ///< true if the pipe runs at its rate beside a working tensor unit
  double pipe_clocks = 0;
  std::vector<std::string> waits;  ///< nodes of the longest cycle of waits
  double waits_clocks = 0;
  double contention = 0;  ///< clocks lost where agents meet on a pipe
  bool operator==(const Iteration&) const = default;
};

struct Prediction {
  Cycles cycles;             ///< SM clocks from the first block's start to the last one's end
  Hertz clock;               ///< clock held under this load; for the roofline an assumed one
  std::string clock_source;  ///< "power limit", "maximum clock", "datasheet tensor clock", ...
  std::optional<Watts> power;
  Seconds time;                        ///< time, launch overhead included if the profile has it
  double tflops = 0;                   ///< work's FLOP (of visible pairs, unpadded) over `time`, 1e12 a second
  std::string bound;                   ///< the pipe that limits; "critical cycle" where waits do
  std::optional<Iteration> iteration;  ///< an iteration by the event graph; none by the roofline
  std::vector<PipeUse> pipes;
  Count busy_nodes = 1, nodes = 1;  ///< compute nodes that get a block, and all of them
  bool at_least = true;             ///< true for a bound: there is no event graph
  double ends = 0;                  ///< fraction of the cycles outside iterations: fills, drains, waits between blocks
};

/// Returns true if the event graph predicts: the tile has edges, and the machine has all numbers that its graph needs
/// (graph/needs.hpp). Else the roofline gives a bound.
[[nodiscard]] bool has_event_graph(const PlacedDiagram& placed);

/// The method of a prediction.
enum class ByClock { graph, roofline };

/// The choices of a prediction, and results that it shares with others.
struct PredictOptions {
  Periods* periods = nullptr;       ///< periods of known graphs
  KnownRereads* rereads = nullptr;  ///< known re-reads of a question's tiles
  ByClock by = ByClock::graph;      ///< roofline: even if the placement has an event graph
  const EventGraph* graph =
      nullptr;  ///< graph to use in place of the placement's own, with longer vector work, for example
  std::optional<Count> blocks_per_node = {};  ///< resident blocks, if not as many as fit
};

/// Predicts the time of a call by the event graph, or else by the roofline (the fullest pipe's busy time, with wave
/// quantisation). Adds device memory's re-reads if they cost more than 0.1 %. Throws nothing for a legal placement.
[[nodiscard]] Prediction predict(const PlacedDiagram& placed, const PredictOptions& options = {});

/// Returns the least time of the algorithm under any mapping: contractions at the fastest instruction's rate and
/// highest clock, inputs and outputs once over device memory's pipe. Nothing if the profile knows neither rate.
[[nodiscard]] std::optional<Prediction> least_time(const PlacedDiagram& placed);

}  // namespace napkin::internal
