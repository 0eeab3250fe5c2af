#pragma once
// lanes_of() gives each bundle of lines a lane, so that few boxes span bundles that they do not use: P of attention
// takes the lane of S. Internal to the folder.

#include <vector>

#include "apps/report/diagram/columns.hpp"

namespace napkin::internal::report {

/// Returns each bundle's lane, from 0 at the top. Bundles of a lane are never live together.
[[nodiscard]] std::vector<int> lanes_of(const ColumnDiagram& diagram);

}  // namespace napkin::internal::report
