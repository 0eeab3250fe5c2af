#pragma once
// html_of makes the report of a question: one HTML page that needs no network, no script and no other file; json_of
// gives its data.

#include <string>
#include <string_view>
#include <vector>

#include "apps/library/judge/report.hpp"
#include "apps/library/judge/validation.hpp"
#include "apps/report/diagram/columns.hpp"
#include "apps/report/json/json.hpp"

namespace napkin::internal::report {

/// Writes the page. `command` makes it again: "napkin report attention --gpu ...".
[[nodiscard]] std::string html_of(const ReportAnswer& answer, const ColumnDiagram& columns, std::string_view command);
/// Makes the JSON of the page's parts that query, select, timeline and sensitivity do not print: roofline, landscapes,
/// measurements, and the prediction's confidence.
[[nodiscard]] Json json_of(const ReportAnswer& answer);

/// Recorded rows beside today's predictions.
struct ReplayReport {
  std::vector<ScoredRow> rows;
  ValidationSummary summary, measured;  ///< summaries with all constants, and without those that were fitted to whole
                                        ///< kernels
  std::vector<std::string> files;
};
/// Writes predicted against measured times, errors by kernel, regret by sweep.
[[nodiscard]] std::string html_of(const ReplayReport& replay, std::string_view command);

}  // namespace napkin::internal::report
