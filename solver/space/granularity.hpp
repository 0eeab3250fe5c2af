#pragma once
// A Granularity says what the sizes of a tile must be multiples of, and why: x of attention is a multiple of 16 for
// "wgmma k of O". (model/README.md, "From diagram to kernel"; errata P4)

#include <string>
#include <vector>

#include "model/diagram/problem.hpp"
#include "model/fusion/streamed.hpp"
#include "model/machine/machine.hpp"
#include "model/mapping/mapping.hpp"

namespace napkin {

/// One reason: "wgmma n of S", "wgmma k of O", "coalescing of V".
struct RequiredFactor {
  std::string cause;
  Count divisor;
};

/// All reasons of one axis; its tile size must be a multiple of their least common multiple.
struct Granularity {
  AxisId axis = 0;
  Count divisor = 1;
  std::vector<RequiredFactor> causes;  ///< those above 1, in order of the operations, then of the variables
};

/// Every axis with a divisor above 1, by AxisId. The shapes of the machine's instruction for the type that each
/// contraction is mapped to: its columns (the last axis that only the second input has) a multiple of the instruction's
/// n, its depth (the last contracted axis) of k. Rows are what Agent::row_step says. A variable that a copy engine
/// fills or empties: its unit-stride axis a multiple of the level's smallest transfer (32 bytes a sector, 128 a line).
[[nodiscard]] std::vector<Granularity> granularities(const Streamed& streamed, const Mapping& mapping,
                                                     const Machine& machine, const Problem& problem);

}  // namespace napkin
