#pragma once
// These functions print the simulated run of an event graph as text, SVG, JSON and a trace that Perfetto and
// chrome://tracing open.

#include <string>

#include "apps/library/answer/timeline.hpp"
#include "apps/report/json/json.hpp"
#include "apps/report/table.hpp"

namespace napkin::report {

[[nodiscard]] std::string text_of(const TimelineAnswer& report, const Style& style);
[[nodiscard]] Json json_of(const TimelineAnswer& report);
/// Writes a self-contained SVG document.
[[nodiscard]] std::string svg_of(const TimelineAnswer& report);
/// Writes the Trace Event Format: a complete event for each span, a clock shown as a microsecond.
[[nodiscard]] std::string perfetto_of(const TimelineAnswer& report);

}  // namespace napkin::report
