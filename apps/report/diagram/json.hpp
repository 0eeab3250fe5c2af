#pragma once
// json_of() is the columns of a diagram as JSON: what a picture shows, for whoever draws it otherwise.

#include "apps/report/diagram/columns.hpp"
#include "apps/report/json/json.hpp"

namespace napkin::report {

/// Makes {"levels": [...], "bundles": [...], "columns": [{"kind": "data", "phase": "head", "events": [...], ...},
/// ...]}.
[[nodiscard]] Json json_of(const ColumnDiagram& diagram);

}  // namespace napkin::report
