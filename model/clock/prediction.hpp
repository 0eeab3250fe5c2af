#pragma once
// The seam between a placed diagram and a time: one function. (design section 2; issue "the clock" refines it)

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/mapping/placed.hpp"
#include "model/resource/resources.hpp"

namespace napkin {

class Periods;
struct BlockEnergy;
struct EventGraph;
struct LaunchClocks;
struct LaunchShape;
struct Period;

struct PipeUse {
  std::string name;  ///< "tensor", "special", "fp32", "alu", "conversion", "issue", "shared_port", "l2", "device"
  double busy = 0;   ///< fraction of the predicted time
};

struct Prediction {
  Cycles cycles;             ///< SM clocks from the first block's start to the last one's end
  Hertz clock;               ///< held under this load; by the first clock: assumed
  std::string clock_source;  ///< "power limit", "maximum clock", "datasheet tensor clock", ...
  std::optional<Watts> power;
  Seconds time;           ///< launch overhead included where the profile has it
  double tflops = 0;      ///< by the field's convention: 4 b h g q x d for attention, half of it when causal
  std::string bound;      ///< the pipe that limits; "critical cycle" where waits do
  std::string iteration;  ///< by the event graph: what binds, and what an iteration takes
  std::vector<PipeUse> pipes;
};

/// Whether the event graph predicts: the tile has edges, and the machine measured times of its tensor instructions and
/// issue slots. Else the first clock does.
[[nodiscard]] bool has_event_graph(const PlacedDiagram& placed);

/// Time of one call: by the event graph; else the max over pipes of busy time, with wave quantisation. Throws nothing
/// for a legal placement.
[[nodiscard]] Prediction predict(const PlacedDiagram& placed, const Plan& plan);
/// The same, in a hundredth of the time where what device memory sends again (resource/reuse) cannot change the time:
/// its pipe's share is then without it.
[[nodiscard]] Prediction predict_quickly(const PlacedDiagram& placed, const Plan& plan);
/// predict() without what device memory sends again, as predicted_time(): what a search answers.
[[nodiscard]] Prediction predict(const PlacedDiagram& placed, const Plan& plan, std::shared_ptr<Periods> periods);
/// The max over pipes of busy time for any placement: what a search over thousands of tiles can afford.
[[nodiscard]] Prediction predict_by_first_clock(const PlacedDiagram& placed, const Plan& plan);

/// predict().time without the explanation, and without what device memory sends again because the L2 no longer holds
/// it: what a search compares. The plan enters by its blocks_per_sm alone; more of them never take longer.
[[nodiscard]] Seconds predicted_time(const PlacedDiagram& placed, Count blocks_per_sm);

/// The same of many placements: those of one variant and problem (PlacedDiagram::variant, binding). What they share is
/// found once; a call allocates nothing.
using Timer = std::function<Seconds(const PlacedDiagram& placed, Count blocks_per_sm)>;
[[nodiscard]] Timer timer(const PlacedDiagram& like);
[[nodiscard]] Timer first_clock_timer(const PlacedDiagram& like);
/// Makes timers that share the periods of the graphs that they meet, whatever the question. Not for several threads at
/// once.
[[nodiscard]] std::function<Timer(const PlacedDiagram& like)> timers();
[[nodiscard]] std::function<Timer(const PlacedDiagram& like)> timers(std::shared_ptr<Periods> periods);

/// A tile's event graph and its period, found before; explained: with the critical cycle. And launch_shape(),
/// launch_clocks() and block_energy() of the tile, where they are known.
struct KnownGraph {
  const EventGraph& graph;
  const Period& period;
  const LaunchShape* shape = nullptr;
  const LaunchClocks* launched = nullptr;
  const BlockEnergy* energy = nullptr;
};
/// timer() and predict(placed, plan, periods) of tiles of one variant and problem whose graphs are known. The period of
/// the second is explained.
struct KnownTimer {
  std::function<Seconds(const PlacedDiagram& placed, Count blocks_per_sm, const KnownGraph& known)> time;
  std::function<Prediction(const PlacedDiagram& placed, const Plan& plan, const KnownGraph& known)> predict;
};
[[nodiscard]] KnownTimer known_timer(const PlacedDiagram& like);

/// At most timer() of the same placement with that many blocks a node or fewer, in a hundredth of the time: the busiest
/// pipe's work in an iteration for all that the busiest node runs, at the clock that the card would hold. Reads the
/// work alone, and more of it never makes it less. Empty where the event graph does not predict.
[[nodiscard]] Timer bound_timer(const PlacedDiagram& like);

/// At most predict().time of the same placement: the tensor work of all visited tiles spread evenly over the nodes, or
/// the compulsory bytes over device memory's pipe, whichever is longer, and the launch. Needs no plan. It depends on
/// the extents of rows and chunk and on where tensor operands are read from, not on copies, order or other knobs, so
/// that one value bounds all tiles that differ in those.
[[nodiscard]] Seconds time_lower_bound(const PlacedDiagram& placed);

/// What every call takes beside its kernel; 0 where the profile does not have it.
[[nodiscard]] Seconds launch_overhead(const Machine& machine);

/// Floating-point operations by the field's convention: 2 a multiply-add of every contraction; causal: half of the
/// unmasked count, exactly; window: the visible pairs. (design section 5)
[[nodiscard]] double conventional_flops(const PlacedDiagram& placed);

/// The clock that predictions assume: the profile's tensor clock, else its maximum, else its base. 1 GHz where it has
/// none.
struct AssumedClock {
  Hertz frequency{1e9};
  std::string_view source = "no clock in the profile: 1 GHz";
};
[[nodiscard]] AssumedClock assumed_clock(const Machine& machine);

}  // namespace napkin
