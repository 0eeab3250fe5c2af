#pragma once
// The seam between a placed diagram and a time: one function. (design section 2; issue "the clock" refines it)

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/mapping/placed.hpp"
#include "model/resource/resources.hpp"

namespace napkin {

struct PipeUse {
  std::string name;  ///< "tensor", "special", "fp32", "alu", "conversion", "issue", "shared_port", "l2", "device"
  double busy = 0;   ///< fraction of the predicted time
};

struct Prediction {
  Cycles cycles;             ///< SM clocks from the first block's start to the last one's end
  Hertz clock;               ///< assumed
  std::string clock_source;  ///< "datasheet tensor clock", "maximum clock", ...
  std::optional<Watts> power;
  Seconds time;       ///< launch overhead included where the profile has it
  double tflops = 0;  ///< by the field's convention: 4 b h g q x d for attention, half of it when causal
  std::string bound;  ///< the pipe that limits
  std::vector<PipeUse> pipes;
};

/// Time of one call: the max over pipes of busy time, with wave quantisation. Throws nothing for a legal placement.
[[nodiscard]] Prediction predict(const PlacedDiagram& placed, const Plan& plan);

/// predict().time without the explanation: what a search compares. The plan enters by its blocks_per_sm alone; more of
/// them never take longer.
[[nodiscard]] Seconds predicted_time(const PlacedDiagram& placed, Count blocks_per_sm);

/// The same of many placements: those of one variant and problem (PlacedDiagram::variant, binding). What they share is
/// found once; a call allocates nothing.
using Timer = std::function<Seconds(const PlacedDiagram& placed, Count blocks_per_sm)>;
[[nodiscard]] Timer timer(const PlacedDiagram& like);

/// At most predict().time of the same placement: the tensor work of all visited tiles spread evenly over the nodes, or
/// the compulsory bytes over device memory's pipe, whichever is longer, and the launch. Needs no plan. It depends on
/// the extents of rows and chunk and on where tensor operands are read from, not on copies, order or other knobs, so
/// that one value bounds all tiles that differ in those.
[[nodiscard]] Seconds time_lower_bound(const PlacedDiagram& placed);

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
