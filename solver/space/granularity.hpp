#pragma once
// A Granularity is the multiple that a tile's size must be along an axis, with its causes: x of attention is a multiple
// of 16 for "wgmma k of O". (model/README.md, "From diagram to kernel"; errata P4)

#include <string>
#include <vector>

#include "model/diagram/problem.hpp"
#include "model/fusion/streamed.hpp"
#include "model/machine/machine.hpp"
#include "model/mapping/mapping.hpp"

namespace napkin::internal {

/// A reason for a multiple: "wgmma n of S", "wgmma k of O", "coalescing of V".
struct RequiredFactor {
  std::string cause;
  Count divisor;
};

/// The reasons for an axis's granularity; its tile size must be a multiple of their least common multiple.
struct Granularity {
  AxisId axis = 0;
  Count divisor = 1;
  std::vector<RequiredFactor> causes;  ///< factors above 1, in order of the operations, then of the variables
};

/// Lists every axis with a divisor above 1, by AxisId. Instructions need multiples of n in their columns and of k in
/// their depth; copy engines need whole transfers along the unit-stride axis (32 bytes a sector, 128 a line).
/// Agent::row_step rules rows.
[[nodiscard]] std::vector<Granularity> granularities(const Streamed& streamed, const Mapping& mapping,
                                                     const Machine& machine, const Problem& problem);

}  // namespace napkin::internal
