#pragma once
// drawing_of() draws the columns: a line for each axis in the colour of its level, boxes over the lines that they
// consume, the loop in brackets, bytes at each change of colour, and below each column what the levels hold.

#include <string>
#include <vector>

#include "apps/report/diagram/columns.hpp"
#include "apps/report/diagram/drawing.hpp"

namespace napkin::internal::report {

/// Returns the colour of each level, by LevelId: black for device memory, orange for the units' node, green for its
/// threads, blue and on for further memories, purple for caches.
[[nodiscard]] std::vector<std::string> level_colours(const std::vector<DiagramLevel>& levels, LevelId compute,
                                                     LevelId threads);

[[nodiscard]] Drawing drawing_of(const ColumnDiagram& diagram);

}  // namespace napkin::internal::report
