#pragma once
// lanes_of() gives each bundle of lines a lane, so that few functions reach over bundles that they do not touch: P of
// attention takes over the lane of S. Internal to the folder.

#include <vector>

#include "apps/report/diagram/columns.hpp"

namespace napkin::report {

/// By bundle, from 0 at the top. Bundles of one lane are never there together.
[[nodiscard]] std::vector<int> lanes_of(const ColumnDiagram& diagram);

}  // namespace napkin::report
