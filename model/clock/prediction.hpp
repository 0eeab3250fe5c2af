#pragma once
// predict() gets from a placed diagram to a time: it says how long a call takes, at which clock, what limits it, and
// whether that is a bound ("at least").

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/mapping/placed.hpp"
#include "model/resource/resources.hpp"

namespace napkin {

class KnownRereads;
class Periods;
struct EventGraph;
struct Period;

struct PipeUse {
  std::string name;  ///< "tensor", "special", "fp32", "alu", "conversion", "issue", "shared_port", "l2", "device"
  double busy = 0;   ///< fraction of the predicted time
};

/// One iteration of a block in the steady state: of 2048 clocks the tensor cores work 2048, and the longest chain of
/// waits takes 1413.
struct Iteration {
  double clocks = 0;
  std::string pipe;            ///< the busiest one
  bool beside_tensor = false;  ///< at the rate that it has while the tensor unit works
  double pipe_clocks = 0;
  std::vector<std::string> waits;  ///< nodes of the longest cycle of waits
  double waits_clocks = 0;
  double contention = 0;  ///< clocks lost where agents meet on a pipe
  bool operator==(const Iteration&) const = default;
};

struct Prediction {
  Cycles cycles;             ///< SM clocks from the first block's start to the last one's end
  Hertz clock;               ///< held under this load; by the roofline: assumed
  std::string clock_source;  ///< "power limit", "maximum clock", "datasheet tensor clock", ...
  std::optional<Watts> power;
  Seconds time;                        ///< launch overhead included where the profile has it
  double tflops = 0;                   ///< work's FLOP (of visible pairs, unpadded) over `time`, 1e12 a second
  std::string bound;                   ///< the pipe that limits; "critical cycle" where waits do
  std::optional<Iteration> iteration;  ///< by the event graph; else none
  std::vector<PipeUse> pipes;
  Count busy_nodes = 1, nodes = 1;  ///< compute nodes that get a block, and those that there are
  bool at_least = true;             ///< a bound: the event graph has not spoken
  double ends = 0;  ///< fraction of the cycles outside of iterations: fills, drains, waits between blocks
};

/// Whether the event graph predicts: the tile has edges, and the machine has all numbers that a graph of it needs
/// (graph/needs.hpp). Else the roofline bounds.
[[nodiscard]] bool has_event_graph(const PlacedDiagram& placed);

/// Time of one call, as answers say it and tiles are ranked: by the event graph, else by the roofline (the fullest
/// pipe's busy time, with wave quantisation); with what device memory sends again because the L2 no longer holds it,
/// where that costs more than 0.1 % of the time. Throws nothing for a legal placement.
[[nodiscard]] Prediction predict(const PlacedDiagram& placed, const Plan& plan);
/// With the periods of graphs met before, and of one question's tiles what device memory sends again.
[[nodiscard]] Prediction predict(const PlacedDiagram& placed, const Plan& plan, Periods& periods);
[[nodiscard]] Prediction predict(const PlacedDiagram& placed, const Plan& plan, Periods& periods, KnownRereads& known);
/// By the roofline for any placement, also one that has an event graph.
[[nodiscard]] Prediction predict_by_roofline(const PlacedDiagram& placed, const Plan& plan);
[[nodiscard]] Prediction predict_by_roofline(const PlacedDiagram& placed, const Plan& plan, KnownRereads& known);

/// Of a graph that is not quite the placement's own: with vector work that somebody supposes to take longer.
[[nodiscard]] Prediction predict_of_graph(const PlacedDiagram& placed, const Plan& plan, const EventGraph& graph,
                                          const Period& period);

/// What no mapping of that algorithm goes below on that machine, whatever the placed tile: contractions at the fastest
/// instruction's rate and the highest clock, inputs and outputs once over device memory's pipe. Nothing where the
/// profile knows neither rate.
[[nodiscard]] std::optional<Prediction> least_time(const PlacedDiagram& placed);

}  // namespace napkin
