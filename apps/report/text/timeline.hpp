#pragma once
// These functions print the simulated run of an event graph as text, SVG, JSON and a trace that Perfetto and
// chrome://tracing open.

#include <string>
#include <utility>
#include <vector>

#include "apps/library/answer/timeline.hpp"
#include "apps/report/json/json.hpp"
#include "apps/report/table.hpp"

namespace napkin::internal::report {

[[nodiscard]] std::string text_of(const TimelineAnswer& report, const Style& style);
[[nodiscard]] Json json_of(const TimelineAnswer& report);
/// Returns the part of the whole call in which each copy engine serves the iterations of the busiest node.
[[nodiscard]] std::vector<std::pair<std::string, double>> engines_of(const TimelineAnswer& report);
/// Form of a timeline's picture: its width, and whether it has a title, which a picture on its own needs.
struct TimelinePicture {
  int width = 1600;
  bool titled = true;
};
/// Writes a self-contained SVG document.
[[nodiscard]] std::string svg_of(const TimelineAnswer& report, const TimelinePicture& picture = {});
/// Writes the Trace Event Format: one complete event a span, a clock shown as a microsecond.
[[nodiscard]] std::string perfetto_of(const TimelineAnswer& report);

}  // namespace napkin::internal::report
