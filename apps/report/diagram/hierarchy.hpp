#pragma once
// hierarchy_of() draws a machine as the paper's Figure 7: a box a level with what a node holds and how many there are,
// a line a pipe with its rate.

#include "apps/report/diagram/drawing.hpp"
#include "model/machine/machine.hpp"

namespace napkin::internal::report {

/// Draws a machine's levels and pipes; `clock` converts rates a clock.
[[nodiscard]] Drawing hierarchy_of(const Machine& machine, Hertz clock);

}  // namespace napkin::internal::report
