#pragma once
// add_foot() writes the foot of a picture: below each column the bytes that each level holds, then a line for each
// level with the bytes that move into it and its capacity. Internal to the folder.

#include <string>
#include <vector>

#include "apps/report/diagram/frame.hpp"

namespace napkin::internal::report {

/// Sets the drawing's height, too.
void add_foot(const ColumnDiagram& diagram, const Frame& frame, const std::vector<std::string>& colours,
              Drawing& drawing);

}  // namespace napkin::internal::report
