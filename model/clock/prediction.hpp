#pragma once
// The seam between a placed diagram and a time: one function. (design section 2; issue "the clock" refines it)

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/mapping/placed.hpp"
#include "model/resource/resources.hpp"

namespace napkin {

struct PipeUse {
  std::string name;   ///< "tensor", "special", "fp32", "alu", "conversion", "issue", "shared_port", "l2", "device"
  double busy = 0;    ///< fraction of the predicted time
};

struct Prediction {
  Cycles cycles;                 ///< SM clocks from the first block's start to the last one's end
  Hertz clock;                   ///< assumed
  std::string clock_source;      ///< "datasheet tensor clock", "maximum clock", ...
  std::optional<Watts> power;
  Seconds time;                  ///< launch overhead included where the profile has it
  double tflops = 0;             ///< by the field's convention: 4 b h g q x d for attention, half of it when causal
  std::string bound;             ///< the pipe that limits
  std::vector<PipeUse> pipes;
};

/// Time of one call: the max over pipes of busy time, with wave quantisation. Throws nothing for a legal placement.
[[nodiscard]] Prediction predict(const PlacedDiagram& placed, const Plan& plan);

/// A lower bound of predict().time for every tile that shares these knob values; see solver/select.
}  // namespace napkin
