#pragma once
// drawing_of() draws the columns: a line for each axis in the colour of its level, boxes over the lines that they
// consume, the loop in brackets, bytes at each change of colour, and below each column what the levels hold.

#include <string>
#include <vector>

#include "apps/report/diagram/columns.hpp"
#include "apps/report/diagram/drawing.hpp"

namespace napkin::report {

/// The colour of each level, by LevelId: device memory black, what the units' node holds orange, what its threads hold
/// green, further memories blue and on, caches purple.
[[nodiscard]] std::vector<std::string> level_colours(const std::vector<DiagramLevel>& levels, LevelId compute,
                                                     LevelId threads);

[[nodiscard]] Drawing drawing_of(const ColumnDiagram& diagram);

}  // namespace napkin::report
