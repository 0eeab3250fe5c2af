#pragma once
// tiling_of() draws how groups and chunks cut the last product of a placed diagram, as the paper's Figures 19 and 20:
// the tile of the result that one group is responsible for, the strips of the operands that stream to it, and the part
// of the tile that one agent computes.

#include "apps/report/diagram/drawing.hpp"
#include "model/mapping/placed.hpp"

namespace napkin::internal::report {

/// Draws the tiling of a product's result. Throws Error if no product of the diagram has a result of two axes.
[[nodiscard]] Drawing tiling_of(const PlacedDiagram& placed);

}  // namespace napkin::internal::report
