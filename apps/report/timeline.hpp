#pragma once
// Who runs when: the run of an event graph as text, SVG, JSON and a trace that Perfetto and chrome://tracing open.

#include <string>
#include <utility>
#include <vector>

#include "apps/report/json.hpp"
#include "apps/report/table.hpp"
#include "model/clock/launch/power.hpp"
#include "model/clock/run/period.hpp"
#include "model/clock/run/timeline.hpp"

namespace napkin::report {

/// What is drawn. Lanes are the pipes that serve one request at a time, then one for each agent instance's threads.
struct TimelineReport {
  Head head;
  std::vector<std::string> agents;  ///< names, by PlacedDiagram::agents
  EventGraph graph;
  Timeline run;        ///< with spans
  int iterations = 0;  ///< of the run
  Period period;
  double block_iterations = 0;  ///< of the mean block
  GraphPrediction predicted;
  bool timed = true;  ///< somebody has timed this GPU's instructions; else the graph has the datasheet's rates
  /// By operation, as fractions: vector work taken longer than counted, and how much longer it may take beside that.
  std::vector<std::pair<std::string, double>> overhead, budgets;
};

[[nodiscard]] std::string text_of(const TimelineReport& report, const Style& style);
[[nodiscard]] Json json_of(const TimelineReport& report);
/// A self-contained SVG document.
[[nodiscard]] std::string svg_of(const TimelineReport& report);
/// Trace Event Format: one complete event a span, a clock shown as a microsecond.
[[nodiscard]] std::string perfetto_of(const TimelineReport& report);

}  // namespace napkin::report
