#pragma once
// add_held() and add_notes() write below a diagram's columns: what the levels hold in each, by the rule as drawn, and
// what no column shows. Internal to the folder.

#include "apps/report/diagram/columns.hpp"
#include "apps/report/diagram/places.hpp"

namespace napkin::internal::report {

void add_held(const Places& places, ColumnDiagram& diagram);
void add_notes(Places& places, ColumnDiagram& diagram);

}  // namespace napkin::internal::report
