#pragma once
// add_foot() writes what stands below a picture's columns: what each level holds there, and a line a level with what
// moves into it and what there is. Internal to the folder.

#include <string>
#include <vector>

#include "apps/report/diagram/frame.hpp"

namespace napkin::report {

/// Sets the drawing's height, too.
void add_foot(const ColumnDiagram& diagram, const Frame& frame, const std::vector<std::string>& colours,
              Drawing& drawing);

}  // namespace napkin::report
