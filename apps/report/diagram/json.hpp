#pragma once
// json_of() is the columns of a diagram as JSON: what a picture shows, for programs that draw it themselves.

#include "apps/report/diagram/columns.hpp"
#include "apps/report/json/json.hpp"

namespace napkin::internal::report {

/// Makes {"levels": [...], "bundles": [...], "columns": [{"kind": "data", "phase": "head", "events": [...], ...},
/// ...]}.
[[nodiscard]] Json json_of(const ColumnDiagram& diagram);

}  // namespace napkin::internal::report
